/** The list of known issues, with its filters. */
import type { FastifyRequest } from 'fastify';
import { KNOWN_ISSUES_PATH } from '../../../core/web-paths.ts';
import { ENDING_DAYS, KNOWN_ISSUES_MAX } from '../../../core/scan/known-issues.ts';
import type { KnownIssueRow, SiteMatches } from '../../../stores/known-issues/known-issues.ts';
import { button, emptyState, filters, link, linkButton, pagination, table, time, type Choice } from '../../web/components/index.ts';
import { html, type Html } from '../../web/html.ts';
import type { ActorNames } from '../actor-names.ts';
import { titledPage } from '../titled-page.ts';
import { choiceFilter, textFilter } from '../views/filter-form.ts';
import { shown } from '../views/scan-words.ts';
import { acceptedBy, isStale, staleBadge, statusBadge, targetOf } from './issue-words.ts';
import { addressOf } from '../../web/address.ts';

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

export interface KnownIssueListPage {
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
