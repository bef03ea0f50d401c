/** Which known issues of a manifest are in effect. Pure. */
import { readDateTime } from '../../core/date-time.ts';
import { labelOf, type KnownIssuesSpec } from '../../core/protocol/known-issues-resources.ts';
import { endMistake, KNOWN_ISSUES_MAX, targetKey, targetMistake } from '../../core/scan/known-issues.ts';
import type { DeclaredIssue, OccupiedSite } from '../../stores/known-issues/manifest-known-issues.ts';

/** A known issue that is in effect or has ended. */
export interface JudgedIssue {
  /** See `labelOf`. */
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
  /** When the judgement changes by the clock alone: an end that is too far ahead comes near. */
  changesAt: number[];
}

const DAY_MS = 86_400_000;

/** @param maxDays see `KNOWN_ISSUE_MAX_DAYS` */
export function judge({ issues: declared }: KnownIssuesSpec, { holders, free }: OccupiedSite, now: Date, maxDays: number): Judged {
  const judged: Judged = { issues: [], problems: [], changesAt: [] };
  const seen = new Set<string>();
  let live = 0;
  for (const entry of declared) {
    const { name: _, expiresAt: end, ...fields } = entry;
    const label = labelOf(entry);
    const refuse = (reason: Problem['reason'], why: string): void => void judged.problems.push({ reason, text: `${label} ${why}` });
    const expiresAt = readDateTime(end);
    const key = targetKey(entry);
    if (targetMistake(entry) !== null || expiresAt === null) refuse('Invalid', 'has no valid target or end');
    else if (seen.has(key)) refuse('Invalid', 'is about the same as one before it');
    else if (expiresAt > now && endMistake(expiresAt, now) !== null) {
      judged.changesAt.push(expiresAt.getTime() - maxDays * DAY_MS);
      refuse('Invalid', `ends more than ${maxDays} days ahead`);
    } else if (expiresAt > now && holders.has(key)) refuse('IssueTaken', holderText(holders.get(key)!));
    else if (expiresAt > now && live >= free)
      refuse('TooManyIssues', `exceeds the ${KNOWN_ISSUES_MAX} known issues that the site can have`);
    else {
      const ended = expiresAt <= now;
      judged.issues.push({ label, issue: { ...fields, expiresAt }, ended });
      if (!ended) live += 1;
    }
    seen.add(key);
  }
  return judged;
}

const holderText = ({ id, manifest }: NonNullable<ReturnType<OccupiedSite['holders']['get']>>): string =>
  manifest === null ? `is accepted already over REST (${id})` : `is accepted already by KnownIssues ${manifest.namespace}/${manifest.name}`;
