/** Counts violations and computes scores (decisions, "Scan results"; the weights are Lighthouse's). */
import { type Impact, IMPACTS } from '../../core/scan/impacts.ts';
import type { Counts, PageProgress } from '../../core/scan/counts.ts';
import type { PageFailureReason, ReportPage } from '../schema/page.ts';

const WEIGHTS: Readonly<Record<Impact, number>> = { critical: 10, serious: 7, moderate: 3, minor: 1 };

/** The rules that passed and failed on a page, by impact. A rule that did not apply counts as neither. */
export type RuleTally = Record<Impact, { passed: number; failed: number }>;

export function emptyTally(): RuleTally {
  return {
    critical: { passed: 0, failed: 0 },
    serious: { passed: 0, failed: 0 },
    moderate: { passed: 0, failed: 0 },
    minor: { passed: 0, failed: 0 },
  };
}

/** Score of one page, 0 to 100, not rounded: 100 × Σ weight(passed) ÷ Σ weight(passed + failed); 100 if no rule applied. */
export function pageScore(tally: RuleTally): number {
  let passed = 0;
  let applied = 0;
  for (const impact of IMPACTS) {
    passed += WEIGHTS[impact] * tally[impact].passed;
    applied += WEIGHTS[impact] * (tally[impact].passed + tally[impact].failed);
  }
  return applied === 0 ? 100 : (100 * passed) / applied;
}

/**
 * Rounds a score half up to one decimal, and never up to 100 while a violation exists.
 * @param score 0 to 100
 * @param violations how many violations the score covers
 */
export function roundScore(score: number, violations: number): number {
  // toFixed corrects binary fractions that are slightly too small: 64.25 must not become 64.2.
  const rounded = Math.floor(Number((score * 10).toFixed(6)) + 0.5) / 10;
  return violations > 0 && rounded >= 100 ? 99.9 : rounded;
}

/**
 * Score of a scan: the mean score of its tested pages, rounded.
 * @throws RangeError if no page was tested: such a scan has failed and has no score
 */
export function scanScore(tallies: readonly RuleTally[], violations: number): number {
  if (tallies.length === 0) throw new RangeError('a scan without a tested page has no score');
  return roundScore(tallies.reduce((sum, tally) => sum + pageScore(tally), 0) / tallies.length, violations);
}

export function noCounts(): Counts {
  return { total: 0, critical: 0, serious: 0, moderate: 0, minor: 0 };
}

/** Counts violations: one per failing element of each rule. */
export function countViolations(violations: Iterable<{ impact: Impact; nodes_total: number }>): Counts {
  const counts = noCounts();
  for (const { impact, nodes_total } of violations) {
    counts[impact] += nodes_total;
    counts.total += nodes_total;
  }
  return counts;
}

export function sumCounts(all: Iterable<Counts>): Counts {
  const sum = noCounts();
  for (const counts of all) {
    sum.total += counts.total;
    for (const impact of IMPACTS) sum[impact] += counts[impact];
  }
  return sum;
}

/**
 * Whether a page that was not tested was attempted: loaded, tried, or left over when the time ran out. A page that the site
 * asks crawlers not to visit, an excluded page, a file and one that is the same as another are not attempted. Addresses beyond
 * `maxPages` are only counted, in `addresses_left`.
 */
const ATTEMPTED: Readonly<Record<PageFailureReason, boolean>> = {
  navigation_failed: true,
  timeout: true,
  http_error: true,
  not_html: true,
  not_rendered: true,
  crashed: true,
  refused: true,
  redirected_away: true,
  redirected_to_gate: true,
  robots_disallowed: false,
  sign_in_page: true,
  bot_wall: true,
  document: false,
  test_failed: true,
  rate_limited: true,
  sign_in_lost: true,
  excluded: false,
  same_as: false,
};

/** Whether a failure counts against the coverage. */
export const isAttempted = (reason: PageFailureReason): boolean => ATTEMPTED[reason];

/** Counts the pages of a report. `total` is the number of attempted pages. */
export function countPages(pages: readonly ReportPage[]): PageProgress {
  const scanned = pages.filter(({ tested }) => tested).length;
  const failed = pages.filter((page) => !page.tested && isAttempted(page.reason)).length;
  return { scanned, failed, total: scanned + failed };
}
