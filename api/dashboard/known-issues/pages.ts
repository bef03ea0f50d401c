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
import { m, t, tr } from '../../web/texts.ts';

export const STATES = ['live', 'ending', 'stale', 'ended'] as const;
const stateChoices = (): (Choice & { value: (typeof STATES)[number] })[] => [
  { value: 'live', text: t`Not ended` },
  { value: 'ending', text: t`Ends within ${ENDING_DAYS} days` },
  { value: 'stale', text: t`Stale` },
  { value: 'ended', text: t`Ended` },
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
      ${t`Violations that are accepted until a date: reports show them, and thresholds do not count them. And decisions about elements that need
      review: fine or a fault. Add one at a root cause on the page of a scan.`}
    </p>
    ${filterForm(query)}
    ${issues.length === 0 ? nothing(query, first) : issueTable(page)}
    ${pagination({
      previous: first ? null : addressOf(KNOWN_ISSUES_PATH, { ...query }),
      next: nextCursor && addressOf(KNOWN_ISSUES_PATH, { ...query, cursor: nextCursor }),
    })}
    <p>${t`Stale ones matched nothing in the newest scan of their site: look whether they are still needed.`}</p>
    <p>${t`A site can have ${KNOWN_ISSUES_MAX} known issues. One that has ended is removed 90 days later, unless a manifest in the cluster declares it.`}</p>`;
  return titledPage({ request, title: t`Known issues`, active: 'known-issues', done, body });
}

function filterForm(query: IssueQuery): Html {
  const form = html`<form class="fields-inline" method="get" action="${KNOWN_ISSUES_PATH}" role="search" aria-label="${t`Known issues`}">
      ${textFilter('site', t`Site`, query.site)} ${choiceFilter('state', t`State`, query.state, stateChoices())}
      <div class="actions">${button({ text: t`Filter` })}${isFiltered(query) && link(t`Clear filters`, KNOWN_ISSUES_PATH)}</div>
    </form>`;
  return filters({ form, active: Number(query.site !== '') + Number(query.state !== null) });
}

const isFiltered = ({ site, state }: IssueQuery): boolean => site !== '' || state !== null;

function nothing(query: IssueQuery, first: boolean): Html {
  if (isFiltered(query) || !first)
    return emptyState({
      title: t`No known issue matches`,
      text: t`Change the filters, or show all known issues.`,
      action: linkButton({ text: t`Show all known issues`, href: KNOWN_ISSUES_PATH }),
    });
  return emptyState({ title: t`There is no known issue`, text: t`Every violation counts, and nothing that needs review is decided.` });
}

const issueTable = ({ issues, names, matches, now }: KnownIssueListPage): Html =>
  table({
    id: 'known-issues',
    caption: t`Known issues, newest first`,
    captionHidden: true,
    columns: [{ text: t`Known issue` }, { text: t`Site`, wide: true }, { text: t`End` }, { text: t`Issue owner` }, { text: t`Accepted` }],
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

const FRAME = { active: 'known-issues', trail: [{ text: m`Known issues`, href: KNOWN_ISSUES_PATH }], narrow: true } as const;

export function knownIssuePage(page: KnownIssuePage): Html {
  const { request, issue, names, typed, errors = [], mayChange, done } = page;
  const { id, reason, owner, expiresAt } = issue;
  const current = ISSUE_FORM.initial({ reason, owner, expires_at: dateOf(expiresAt) });
  const isOpen = mayChange && issue.manifest === null;
  const body = html`${definitions([...facts(page), ...(isOpen ? [] : texts(issue))])}
    ${
      issue.manifest !== null &&
      html`<p>${t`A manifest in the cluster declares it, so it is changed and removed there: ${html`<code>${acceptedBy(issue, names)}</code>`}.`}</p>`
    }
    ${
      isOpen &&
      html`<h2>${t`Change it`}</h2>
        <p>${t`Scans that have started keep what they started with.`}</p>
        <form method="post" action="${issuePath(id)}" novalidate>
          ${csrfField(request)} ${ISSUE_FORM.controls(typed ?? current, errors, CHANGED_FIELDS)} ${button({ text: t`Save changes`, kind: 'primary' })}
        </form>
        <h2>${t`Remove it`}</h2>
        <p>${t`Scans that start afterwards count as if it had never been set.`}</p>
        <p>${linkButton({ text: removeText(issue), href: `${issuePath(id)}/remove` })}</p>`
    }`;
  return titledPage({ ...FRAME, request, title: isDecision(issue) ? t`Decision` : t`Known issue`, errors, done, body });
}

type Row = readonly [HtmlValue, HtmlValue];

type ShownIssue = Pick<KnownIssuePage, 'request' | 'issue' | 'names' | 'matches' | 'example' | 'seen' | 'now'>;

const facts = ({ issue, names, matches, example, seen, now }: ShownIssue): Row[] => [
  [
    isDecision(issue) ? t`Decided about` : t`Accepted`,
    html`${isDecision(issue) && kindBadge(issue)} ${example && html`${issueName(example)}<br />`}${issueTarget(issue, example)}`,
  ],
  ...(example === undefined ? [] : [exampleRow(example, { issue, seen })]),
  [t`Site`, shown(issue.site)],
  [t`End`, html`${time(issue.expiresAt)} ${statusBadge(issue, now)}`],
  ...(matches !== null && isStale(issue, matches, now) ? [staleRow(matches)] : []),
  [isDecision(issue) ? t`Decided by` : t`Accepted by`, html`${acceptedBy(issue, names)}, ${time(issue.createdAt)}`],
];

function exampleRow({ scanId, pageUrl, fingerprint }: KnownIssueExample, { issue, seen }: Pick<ShownIssue, 'issue' | 'seen'>): Row {
  const scan =
    seen &&
    t`${siteLink(pageUrl)}, in ${link(t`the scan`, isDecision(issue) ? scanPath(scanId) : causesHref(scanId, { cause: fingerprint }))}`;
  return [t`Example`, seen ? html`${scan} ${seen.picture}` : siteLink(pageUrl)];
}

const staleRow = ({ scanId, at }: SiteMatches): Row => [
  t`Newest scan`,
  html`${staleBadge()} ${t`${link(t`The scan of ${dateAndTime(at)}`, scanPath(scanId))} found nothing that it covers.`}`,
];

const texts = ({ reason, owner }: KnownIssueRow): Row[] => [
  [t`Reason`, reason],
  [t`Issue owner`, owner],
];

const removeText = (issue: KnownIssueRow): string => (isDecision(issue) ? t`Remove the decision` : t`Remove the known issue`);

export function removeIssuePage(page: ShownIssue): Html {
  const { request, issue } = page;
  const body = html`${definitions([...facts(page), ...texts(issue)])}
    <p>${
      isDecision(issue)
        ? t`Scans that start afterwards count as if it had never been set: what was decided needs review again.`
        : t`Scans that start afterwards count as if it had never been set: what was accepted counts again.`
    } ${t`Scans that have started keep what they started with.`}</p>
    <form method="post" action="${issuePath(issue.id)}/remove">
      ${csrfField(request)}
      ${actions(button({ text: removeText(issue), kind: 'danger' }), linkButton({ text: t`Keep it`, href: issuePath(issue.id), kind: 'quiet' }))}
    </form>`;
  return titledPage({ ...FRAME, request, title: isDecision(issue) ? t`Remove this decision?` : t`Remove this known issue?`, body });
}

export const issuePath = (id: string): string => `${KNOWN_ISSUES_PATH}/${id}`;

/** The page that accepts a root cause of a scan, or decides about one that needs review. */
export const acceptPath = (scan: string, list: CauseList, cause: string): string =>
  `${KNOWN_ISSUES_PATH}/new?${new URLSearchParams({ scan, cause, ...(list === 'review' && { list }) })}`;

const KINDS: Readonly<Record<KnownIssueKind, string>> = { accepted: m`Known issue`, fine: m`Decided: fine`, fault: m`Decided: a fault` };

export const kindBadge = ({ kind = 'accepted' }: KnownIssueTarget): Html => badge(kind === 'fault' ? 'bad' : 'plain', tr(KINDS[kind]));

/** Severity and title of the rule. */
export const issueName = ({ impact, rule }: KnownIssueExample): Html =>
  html`${severityBadge(impact)} ${titleOf({ cause_rules: {} }, rule)}`;

/** What is covered: its element, and how often it was found. @param max of a selector, in characters */
export function issueTarget({ fingerprint, rule, selector }: KnownIssueRow, example: KnownIssueExample | undefined, max?: number): Html {
  const extent = example && html`, ${extentOf(example)}`;
  if (fingerprint === undefined)
    return html`${t`${html`<code>${shown(rule!, 100)}</code>`} at ${html`<code class="address">${shown(selector!, max)}</code>`}`}${extent}`;
  return example === undefined
    ? t`Root cause ${html`<code>${fingerprint}</code>`}`
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
  return status === 'ended' ? badge('bad', t`Ended`) : badge('warn', t`Ends soon`);
}

export const staleBadge = (): Html => badge('warn', t`Stale`);
