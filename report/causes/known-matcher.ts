/** Finds the known issue or decision that covers an element. Pure. */
import { isDecision, placeKey, targetKey, type KnownIssueTarget } from '../../core/scan/known-issues.ts';
import { elementPath, type ReportNode } from '../schema/page.ts';
import { rootCauseFingerprint } from './root-causes.ts';

export type MatchedNode = Pick<ReportNode, 'html' | 'landmark' | 'contrast' | 'frame_path' | 'shadow_path' | 'selector'>;

/** Finds the key of the known issue that covers an element; see `targetKey`. */
export interface KnownMatcher {
  of(rule: string, node: MatchedNode): string | undefined;
  /** The same for elements of which only the root cause is known. */
  ofCause(fingerprint: string): string | undefined;
}

export const NONE_KNOWN: KnownMatcher = { of: () => undefined, ofCause: () => undefined };

/** Matches violations with those that are accepted. */
export const knownMatcher = (issues: readonly KnownIssueTarget[]): KnownMatcher => matcherOf(accepted(issues));

export const accepted = <T extends KnownIssueTarget>(issues: readonly T[]): T[] => issues.filter((issue) => !isDecision(issue));

/** A known issue by root cause precedes one by rule and selector. */
export function matcherOf(issues: readonly KnownIssueTarget[]): KnownMatcher {
  const keys = new Set(issues.map(targetKey));
  const known = (key: string): string | undefined => (keys.has(key) ? key : undefined);
  return {
    of: (rule, node) => known(rootCauseFingerprint(rule, node)) ?? known(placeKey(rule, elementPath(node))),
    ofCause: known,
  };
}

export const firstByKey = <T extends KnownIssueTarget>(issues: readonly T[]): Map<string, T> =>
  new Map(issues.toReversed().map((issue) => [targetKey(issue), issue]));
