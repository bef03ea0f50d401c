/** The list of known issues, the page of one with the form that changes it, and the page that asks before it is removed. Pure. */
import type { FastifyRequest } from 'fastify';
import { KNOWN_ISSUES_PATH, scanPath } from '../../../core/web-paths.ts';
import type { KnownIssueRow, SiteMatches } from '../../../stores/known-issues/known-issues.ts';
import {
  actions,
  badge,
  button,
  type Choice,
  definitions,
  emptyState,
  filters,
  type FormError,
  link,
  linkButton,
  pagination,
  table,
  time,
} from '../../web/components.ts';
import { addressOf, html, type Html, type HtmlValue, NOTHING } from '../../../report/html/html.ts';
import { csrfField, titledPage } from '../forms.ts';
import type { ActorNames } from '../names.ts';
import { shown } from '../scans/words.ts';
import { statusOf } from '../../accounts/known-issue-management.ts';
import { ENDING_DAYS, KNOWN_ISSUES_MAX } from '../../../core/scan/known-issues.ts';
import { choiceFilter, textFilter } from '../scans/list-query.ts';
import type { Typed } from '../schema-form.ts';
import { CHANGED_FIELDS, dateOf, ISSUE_FORM } from './form.ts';

export const STATES = ['live', 'ending', 'stale', 'ended'] as const;
const STATE_CHOICES: readonly (Choice & { value: (typeof STATES)[number] })[] = [
  { value: 'live', text: 'Not ended' },
  { value: 'ending', text: `Ends within ${ENDING_DAYS} days` },
  { value: 'stale', text: 'Stale' },
  { value: 'ended', text: 'Ended' },
];

export interface IssueQuery {
  /** Empty: every site. */
  site: string;
  state: (typeof STATES)[number] | null;
}

interface KnownIssueListPage {
  request: FastifyRequest;
  query: IssueQuery;
  issues: readonly KnownIssueRow[];
  names: ActorNames;
  /** What the newest scans of their sites say, by site. */
  matches: ReadonlyMap<string, SiteMatches>;
  /** Whether this is the first part of the list. */
  first: boolean;
  nextCursor: string | null;
  done: string | null;
  now: Date;
}

export function knownIssueListPage(page: KnownIssueListPage): Html {
  const { request, query, issues, first, nextCursor, done } = page;
  const body = html`<p class="lead">
      Violations that are accepted until a date. Reports show them, and thresholds do not count them. Accept one at a root cause on the page of
      a scan.
    </p>
    ${filterForm(query)}
    ${issues.length === 0 ? nothing(query, first) : issueTable(page)}
    ${pagination({
      previous: first ? null : addressOf(KNOWN_ISSUES_PATH, { ...query }),
      next: nextCursor && addressOf(KNOWN_ISSUES_PATH, { ...query, cursor: nextCursor }),
    })}
    <p>Stale ones matched nothing in the newest scan of their site: look whether they are still needed.</p>
    <p>A site can have ${KNOWN_ISSUES_MAX} known issues. One that has ended is removed 90 days later, unless a manifest in the cluster declares it.</p>`;
  return titledPage({ request, title: 'Known issues', active: 'known-issues', done, body });
}

function filterForm(query: IssueQuery): Html {
  const form = html`<form class="fields-inline" method="get" action="${KNOWN_ISSUES_PATH}" role="search" aria-label="Known issues">
      ${textFilter('site', 'Site', query.site)} ${choiceFilter('state', 'State', query.state, STATE_CHOICES)}
      <div class="actions">${button({ text: 'Filter' })}${isFiltered(query) && link('Clear filters', KNOWN_ISSUES_PATH)}</div>
    </form>`;
  return filters({ form, active: Number(query.site !== '') + Number(query.state !== null) });
}

const isFiltered = ({ site, state }: IssueQuery): boolean => site !== '' || state !== null;

function nothing(query: IssueQuery, first: boolean): Html {
  if (isFiltered(query) || !first)
    return emptyState({
      title: 'No known issue matches',
      text: 'Change the filters, or show all known issues.',
      action: linkButton({ text: 'Show all known issues', href: KNOWN_ISSUES_PATH }),
    });
  return emptyState({ title: 'There is no known issue', text: 'Every violation counts.' });
}

const issueTable = ({ issues, names, matches, now }: KnownIssueListPage): Html =>
  table({
    id: 'known-issues',
    caption: 'Known issues, newest first',
    captionHidden: true,
    columns: [{ text: 'Known issue' }, { text: 'Site', wide: true }, { text: 'End' }, { text: 'Owner' }, { text: 'Accepted' }],
    rows: issues.map((issue) => [
      html`${link(shown(issue.reason, 100), `${KNOWN_ISSUES_PATH}/${issue.id}`)}<br /><span class="small soft">${targetOf(issue, 120)}</span>
        ${statusBadge(issue, now)} ${isStale(issue, matches.get(issue.site), now) && staleBadge()}`,
      shown(issue.site),
      time(issue.expiresAt),
      issue.owner,
      html`${time(issue.createdAt)}<br /><span class="small soft">${acceptedBy(issue, names)}</span>`,
    ]),
  });

export const issuePath = (id: string): string => `${KNOWN_ISSUES_PATH}/${id}`;

export interface KnownIssuePage {
  request: FastifyRequest;
  issue: KnownIssueRow;
  names: ActorNames;
  /** What the newest scan of its site says. */
  matches: SiteMatches | null;
  /** What was typed. Default: as it is. */
  typed?: Typed;
  errors?: readonly FormError[];
  mayChange: boolean;
  done: HtmlValue | null;
  now: Date;
}

const FRAME = { active: 'known-issues', trail: [{ text: 'Known issues', href: KNOWN_ISSUES_PATH }], narrow: true } as const;

export function knownIssuePage(page: KnownIssuePage): Html {
  const { request, issue, names, typed, errors = [], mayChange, done } = page;
  const { id, reason, owner, expiresAt } = issue;
  const current = ISSUE_FORM.initial({ reason, owner, expires_at: dateOf(expiresAt) });
  const isOpen = mayChange && issue.manifest === null;
  const body = html`${definitions([...facts(page), ...(isOpen ? [] : texts(issue))])}
    ${
      issue.manifest !== null &&
      html`<p>A manifest in the cluster declares it, so it is changed and removed there: <code>${acceptedBy(issue, names)}</code>.</p>`
    }
    ${
      isOpen &&
      html`<h2>Change it</h2>
        <p>Scans that have started keep what they started with.</p>
        <form method="post" action="${issuePath(id)}" novalidate>
          ${csrfField(request)} ${ISSUE_FORM.controls(typed ?? current, errors, CHANGED_FIELDS)} ${button({ text: 'Save changes', kind: 'primary' })}
        </form>
        <h2>Remove it</h2>
        <p>The violations count again in scans that start afterwards.</p>
        <p>${linkButton({ text: 'Remove the known issue', href: `${issuePath(id)}/remove` })}</p>`
    }`;
  return titledPage({ ...FRAME, request, title: 'Known issue', errors, done, body });
}

type Row = readonly [HtmlValue, HtmlValue];

type ShownIssue = Pick<KnownIssuePage, 'request' | 'issue' | 'names' | 'matches' | 'now'>;

const facts = ({ issue, names, matches, now }: ShownIssue): Row[] => [
  ['Accepted', targetOf(issue)],
  ['Site', shown(issue.site)],
  ['End', html`${time(issue.expiresAt)} ${statusBadge(issue, now)}`],
  ...(matches !== null && isStale(issue, matches, now) ? [staleRow(matches)] : []),
  ['Accepted by', html`${acceptedBy(issue, names)}, ${time(issue.createdAt)}`],
];

const staleRow = ({ scanId, at }: SiteMatches): Row => [
  'Newest scan',
  html`${staleBadge()} ${link(html`The scan of ${time(at)}`, scanPath(scanId))} found nothing that it covers.`,
];

const texts = ({ reason, owner }: KnownIssueRow): Row[] => [
  ['Reason', reason],
  ['Owner', owner],
];

export function removeIssuePage(page: ShownIssue): Html {
  const { request, issue } = page;
  const body = html`${definitions([...facts(page), ...texts(issue)])}
    <p>What it covers counts as violations again in scans that start afterwards. Scans that have started keep what they started with.</p>
    <form method="post" action="${issuePath(issue.id)}/remove">
      ${csrfField(request)}
      ${actions(button({ text: 'Remove the known issue', kind: 'danger' }), linkButton({ text: 'Keep it', href: issuePath(issue.id), kind: 'quiet' }))}
    </form>`;
  return titledPage({ ...FRAME, request, title: 'Remove this known issue?', body });
}

/** What is accepted. @param max of the selector, in characters */
export const targetOf = ({ fingerprint, rule, selector }: KnownIssueRow, max?: number): Html =>
  fingerprint === undefined
    ? html`<code>${shown(rule!, 100)}</code> at <code class="address">${shown(selector!, max)}</code>`
    : html`Root cause <code>${fingerprint}</code>`;

/** Who accepts it: a person, a key, or the resource that declares it. */
export const acceptedBy = ({ createdBy, manifest }: KnownIssueRow, names: ActorNames): string =>
  manifest === null ? names(createdBy) : `KnownIssues ${manifest.namespace}/${manifest.name}`;

/** Whether it covers violations but matched none in the newest scan of its site. @param matches what that scan says */
export const isStale = (issue: KnownIssueRow, matches: SiteMatches | null | undefined, now: Date): boolean =>
  statusOf(issue, now) !== 'ended' && (matches?.unmatched.includes(issue.id) ?? false);

/** Marks one whose end is near or past. */
export function statusBadge(issue: KnownIssueRow, now: Date): Html {
  const status = statusOf(issue, now);
  if (status === 'live') return NOTHING;
  return status === 'ended' ? badge('bad', 'Ended') : badge('warn', 'Ends soon');
}

export const staleBadge = (): Html => badge('warn', 'Stale');
