/** Which known issues of a manifest are in effect. Pure. */
import { readDateTime } from '../../core/date-time.ts';
import { labelOf, type KnownIssuesSpec } from '../../core/protocol/known-issues-resources.ts';
import { endMistake, KNOWN_ISSUES_MAX, SAME_TARGET, targetKey, targetMistake } from '../../core/scan/known-issues.ts';
import type { DeclaredIssue, OccupiedSite } from '../../stores/known-issues/manifest-known-issues.ts';

export interface JudgedIssue {
  label: string;
  issue: DeclaredIssue;
  ended: boolean;
}

/** Why known issues are not applied: the spec is wrong, others have accepted the same, or the site has too many. Each with its label, and why. */
export type Problem = { reason: 'Invalid' | 'IssueTaken' | 'TooManyIssues'; text: string };

export interface Judged {
  issues: JudgedIssue[];
  /** In the order of the spec. */
  problems: Problem[];
  /** When the judgement changes by the clock alone: an end that is too far ahead comes near, or what another one has ends. */
  changesAt: number[];
}

const DAY_MS = 86_400_000;

/** One that has ended gives way to one about the same that ends later, wherever it is in the list. @param maxDays see `KNOWN_ISSUE_MAX_DAYS` */
export function judge({ issues: declared }: KnownIssuesSpec, { holders, free }: OccupiedSite, now: Date, maxDays: number): Judged {
  const issues = new Map<string, JudgedIssue>();
  const problems: Problem[] = [];
  const changesAt: number[] = [];
  const seen = new Set<string>();
  let live = 0;
  for (const entry of declared) {
    const { name: _, expiresAt: end, ...fields } = entry;
    const label = labelOf(entry);
    const refuse = (reason: Problem['reason'], why: string): void => void problems.push({ reason, text: `${label} ${why}` });
    const expiresAt = readDateTime(end);
    if (targetMistake(entry) !== null || expiresAt === null) {
      refuse('Invalid', 'has no valid target or end');
      continue;
    }
    const key = targetKey(entry);
    if (expiresAt <= now) {
      const other = issues.get(key);
      if (other === undefined || other.issue.expiresAt < expiresAt)
        issues.set(key, { label, issue: { ...fields, expiresAt }, ended: true });
      continue;
    }
    const holder = holders.get(key);
    if (seen.has(key)) refuse('Invalid', SAME_TARGET);
    else if (endMistake(expiresAt, now) !== null) {
      changesAt.push(expiresAt.getTime() - maxDays * DAY_MS);
      refuse('Invalid', `ends more than ${maxDays} days ahead`);
    } else if (holder !== undefined) {
      changesAt.push(holder.expiresAt.getTime());
      refuse('IssueTaken', holderText(holder));
    } else if (live >= free) refuse('TooManyIssues', `exceeds the ${KNOWN_ISSUES_MAX} known issues that the site can have`);
    else {
      issues.set(key, { label, issue: { ...fields, expiresAt }, ended: false });
      live += 1;
    }
    seen.add(key);
  }
  return { issues: [...issues.values()], problems, changesAt };
}

const holderText = ({ id, manifest }: NonNullable<ReturnType<OccupiedSite['holders']['get']>>): string =>
  manifest === null ? `is accepted already over REST (${id})` : `is accepted already by KnownIssues ${manifest.namespace}/${manifest.name}`;
