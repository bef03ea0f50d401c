/** The parts of a report that are derived from its pages. The operator derives them again to verify the scanner's. */
import type { Outcome } from '../../core/scan/outcome.ts';
import { judge, type Thresholds, type Verdict } from '../../core/scan/thresholds.ts';
import { countPages } from './coverage.ts';
import { groupAdvice, groupNeedsReview, groupViolations } from '../causes/root-causes.ts';
import type { Report, ReportPage, TestedPage } from '../schema/schema.ts';
import { countViolations, scanScore, sumCounts } from './score.ts';
import { FINGERPRINT_VERSION, SCORE_VERSION } from '../schema/versions.ts';

export interface Results {
  outcome: Outcome;
  verdict: Verdict;
  score: Report['score'];
  fingerprint_version: number;
  groups: Report['groups'];
  review_groups: Report['review_groups'];
  advice_groups: NonNullable<Report['advice_groups']>;
}

export function testedPages(pages: readonly ReportPage[]): TestedPage[] {
  return pages.filter((page) => page.tested);
}

/**
 * Derives score, counts, verdict and root causes.
 * @throws RangeError if no page was tested: such a scan has failed and has no results
 */
export function deriveResults(pages: readonly ReportPage[], thresholds: Thresholds): Results {
  const tested = testedPages(pages);
  const violations = sumCounts(tested.map((page) => countViolations(page.violations)));
  const value = scanScore(
    tested.map((page) => page.rules),
    violations.total,
  );
  const outcome: Outcome = { score: value, violations, pages: countPages(pages) };
  return {
    outcome,
    verdict: judge(thresholds, outcome),
    score: {
      value,
      score_version: SCORE_VERSION,
      pages_tested: tested.length,
      pages_attempted: outcome.pages.total,
      pages_found: pages.length,
      needs_review: sumCounts(tested.map((page) => countViolations(page.needs_review))).total,
    },
    fingerprint_version: FINGERPRINT_VERSION,
    groups: groupViolations(pages),
    review_groups: groupNeedsReview(pages),
    advice_groups: groupAdvice(pages),
  };
}

/** Returns the outcome of a report. */
export function outcomeOf({ score, counts }: Pick<Report, 'score' | 'counts'>): Outcome {
  const { value, pages_tested: scanned, pages_attempted: total } = score;
  return { score: value, violations: counts, pages: { scanned, failed: total - scanned, total } };
}
