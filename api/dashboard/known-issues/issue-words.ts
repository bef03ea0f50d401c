/** How known issues are shown in lists and on their pages. Pure. */
import type { KnownIssueRow, SiteMatches } from '../../../stores/known-issues/known-issues.ts';
import { statusOf } from '../../accounts/known-issue-management.ts';
import type { ActorNames } from '../actor-names.ts';
import { badge } from '../../web/components/index.ts';
import { html, NOTHING, type Html } from '../../web/html.ts';
import { shown } from '../views/scan-words.ts';

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
