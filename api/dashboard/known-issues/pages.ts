/** The list of known issues, the page of one with the form that changes it, and the page that asks before it is removed. Pure. */
import type { FastifyRequest } from 'fastify';
import { KNOWN_ISSUES_PATH, scanPath } from '../../../core/web-paths.ts';
import { extentOf, titleOf } from '../../../report/html/cause.ts';
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
  severityBadge,
  table,
  dateAndTime,
  time,
} from '../../web/components.ts';
import { addressOf, html, type Html, type HtmlValue, NOTHING } from '../../../report/html/html.ts';
import { csrfField, titledPage } from '../forms.ts';
import type { ActorNames } from '../names.ts';
import { shown, siteLink } from '../scans/words.ts';
import { exampleOf, statusOf } from '../../accounts/known-issue-management.ts';
import {
  ENDING_DAYS,
  isDecision,
  KNOWN_ISSUES_MAX,
  type KnownIssueExample,
  type KnownIssueKind,
  type KnownIssueTarget,
} from '../../../core/scan/known-issues.ts';
import { choiceFilter, textFilter } from '../scans/list-query.ts';
import type { Typed } from '../schema-form.ts';
import { type CauseList, causesHref } from '../findings/select.ts';
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
      Violations that are accepted until a date: reports show them, and thresholds do not count them. And decisions about elements that need
      review: fine or a fault. Add one at a root cause on the page of a scan.
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
  return emptyState({ title: 'There is no known issue', text: 'Every violation counts, and nothing that needs review is decided.' });
}

const issueTable = ({ issues, names, matches, now }: KnownIssueListPage): Html =>
  table({
    id: 'known-issues',
    caption: 'Known issues, newest first',
    captionHidden: true,
    columns: [{ text: 'Known issue' }, { text: 'Site', wide: true }, { text: 'End' }, { text: 'Owner' }, { text: 'Accepted' }],
    rows: issues.map((issue) => [
      html`${issueLines(issue, exampleOf(issue, matches.get(issue.site)))} ${isDecision(issue) && kindBadge(issue)} ${statusBadge(issue, now)}
        ${isStale(issue, matches.get(issue.site), now) && staleBadge()}`,
      shown(issue.site),
      time(issue.expiresAt),
      issue.owner,
      html`${time(issue.createdAt)}<br /><span class="small soft">${acceptedBy(issue, names)}</span>`,
    ]),
  });

function issueLines(issue: KnownIssueRow, example: KnownIssueExample | undefined): Html {
  const reason = shown(issue.reason, 100);
  const target = html`<span class="small soft">${issueTarget(issue, example, 120)}</span>`;
  if (example === undefined) return html`${link(reason, issuePath(issue.id))}<br />${target}`;
  return html`${link(issueName(example), issuePath(issue.id))}<br />${target}<br /><span class="small">${reason}</span>`;
}

export interface KnownIssuePage {
  request: FastifyRequest;
  issue: KnownIssueRow;
  names: ActorNames;
  /** What the newest scan of its site says. */
  matches: SiteMatches | null;
  example: KnownIssueExample | undefined;
  /** Whether the scan of the example is still stored, with the picture. */
  seen: { picture: Html | false } | null;
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
        <p>Scans that start afterwards count as if it had never been set.</p>
        <p>${linkButton({ text: removeText(issue), href: `${issuePath(id)}/remove` })}</p>`
    }`;
  return titledPage({ ...FRAME, request, title: isDecision(issue) ? 'Decision' : 'Known issue', errors, done, body });
}

type Row = readonly [HtmlValue, HtmlValue];

type ShownIssue = Pick<KnownIssuePage, 'request' | 'issue' | 'names' | 'matches' | 'example' | 'seen' | 'now'>;

const facts = ({ issue, names, matches, example, seen, now }: ShownIssue): Row[] => [
  [
    isDecision(issue) ? 'Decided about' : 'Accepted',
    html`${isDecision(issue) && kindBadge(issue)} ${example && html`${issueName(example)}<br />`}${issueTarget(issue, example)}`,
  ],
  ...(example === undefined ? [] : [exampleRow(example, { issue, seen })]),
  ['Site', shown(issue.site)],
  ['End', html`${time(issue.expiresAt)} ${statusBadge(issue, now)}`],
  ...(matches !== null && isStale(issue, matches, now) ? [staleRow(matches)] : []),
  [isDecision(issue) ? 'Decided by' : 'Accepted by', html`${acceptedBy(issue, names)}, ${time(issue.createdAt)}`],
];

function exampleRow({ scanId, pageUrl, fingerprint }: KnownIssueExample, { issue, seen }: Pick<ShownIssue, 'issue' | 'seen'>): Row {
  const scan =
    seen &&
    html`, in ${link('the scan', isDecision(issue) ? scanPath(scanId) : causesHref(scanId, { cause: fingerprint }))} ${seen.picture}`;
  return ['Example', html`${siteLink(pageUrl)}${scan}`];
}

const staleRow = ({ scanId, at }: SiteMatches): Row => [
  'Newest scan',
  html`${staleBadge()} ${link(html`The scan of ${dateAndTime(at)}`, scanPath(scanId))} found nothing that it covers.`,
];

const texts = ({ reason, owner }: KnownIssueRow): Row[] => [
  ['Reason', reason],
  ['Owner', owner],
];

const removeText = (issue: KnownIssueRow): string => (isDecision(issue) ? 'Remove the decision' : 'Remove the known issue');

export function removeIssuePage(page: ShownIssue): Html {
  const { request, issue } = page;
  const body = html`${definitions([...facts(page), ...texts(issue)])}
    <p>Scans that start afterwards count as if it had never been set: ${isDecision(issue) ? 'what was decided needs review' : 'what was accepted counts'} again. Scans that have started keep what they started with.</p>
    <form method="post" action="${issuePath(issue.id)}/remove">
      ${csrfField(request)}
      ${actions(button({ text: removeText(issue), kind: 'danger' }), linkButton({ text: 'Keep it', href: issuePath(issue.id), kind: 'quiet' }))}
    </form>`;
  return titledPage({ ...FRAME, request, title: isDecision(issue) ? 'Remove this decision?' : 'Remove this known issue?', body });
}

export const issuePath = (id: string): string => `${KNOWN_ISSUES_PATH}/${id}`;

/** The page that accepts a root cause of a scan, or decides about one that needs review. */
export const acceptPath = (scan: string, list: CauseList, cause: string): string =>
  `${KNOWN_ISSUES_PATH}/new?${new URLSearchParams({ scan, cause, ...(list === 'review' && { list }) })}`;

const KINDS: Readonly<Record<KnownIssueKind, string>> = { accepted: 'Known issue', fine: 'Decided: fine', fault: 'Decided: a fault' };

export const kindBadge = ({ kind = 'accepted' }: KnownIssueTarget): Html => badge(kind === 'fault' ? 'bad' : 'plain', KINDS[kind]);

/** Severity and title of the rule. */
export const issueName = ({ impact, rule }: KnownIssueExample): Html =>
  html`${severityBadge(impact)} ${titleOf({ cause_rules: {} }, rule)}`;

/** What is covered: its element, and how often it was found. @param max of a selector, in characters */
export function issueTarget({ fingerprint, rule, selector }: KnownIssueRow, example: KnownIssueExample | undefined, max?: number): Html {
  const extent = example && html`, ${extentOf(example)}`;
  if (fingerprint === undefined)
    return html`<code>${shown(rule!, 100)}</code> at <code class="address">${shown(selector!, max)}</code>${extent}`;
  return example === undefined
    ? html`Root cause <code>${fingerprint}</code>`
    : html`<code class="address">${shown(example.selector, max)}</code>${extent}`;
}

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
