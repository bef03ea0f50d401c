/** The parts of a report that are derived from its pages. The operator derives them again to verify the scanner's. */
import type { Outcome } from '../../core/scan/outcome.ts';
import type { ScanOptions } from '../../core/scan/options.ts';
import { type StateKind, STATES_VERSION, statesOf } from '../../core/scan/states.ts';
import type { ChosenKnownIssues } from '../../core/scan/known-issues.ts';
import { judge, judgeWithoutResult, notesOf, type Thresholds, type Verdict } from '../../core/scan/thresholds.ts';
import { baselineOutcomeOf, compareWithBaseline, type ChosenBaseline } from '../diff/baseline.ts';
import type { ComparableReport } from '../diff/reduce.ts';
import { countPages, countViolations, scanScore, sumCounts } from './score.ts';
import { applyKnownIssues, knownOutcomeOf } from '../causes/known.ts';
import { knownMatcher } from '../causes/known-matcher.ts';
import { rootCausesOf } from '../causes/root-causes.ts';
import { type ReportPage, type StateResult, testedPages } from '../schema/page.ts';
import type { Report, ReportBaseline, ReportDiscovery, ReportKnownIssues, ReportStates } from '../schema/report.ts';
import { discoveryNote } from '../view/gaps.ts';
import { partialSentence } from '../view/sentences.ts';
import { FINGERPRINT_VERSION, SCORE_VERSION } from '../schema/engines.ts';

export interface Results {
  outcome: Outcome;
  /** Only if the scan has a baseline. */
  baseline?: ReportBaseline;
  /** Only if the site has known issues. */
  known_issues?: ReportKnownIssues;
  verdict: Verdict;
  score: Report['score'];
  fingerprint_version: number;
  groups: Report['groups'];
  review_groups: Report['review_groups'];
  advice_groups: Report['advice_groups'];
}

/** What else a scan is judged by. */
export interface JudgedBy {
  /** The scan was canceled before all pages were tested. */
  partial?: boolean;
  baseline?: WithBaseline;
  /** Absent or without issues: none. */
  known?: ChosenKnownIssues;
  /** What the scan found beside its pages, of the number of pages that it was to test. Absent: nothing. */
  found?: { discovery: ReportDiscovery; maxPages: number };
}

/** The earlier scan to compare with, and how this one was made. */
export interface WithBaseline {
  chosen: ChosenBaseline;
  scan: ComparableReport['scan'];
  tools: Report['tools'];
  /** The IDs of the report's `rules`. */
  rules: readonly string[];
}

/**
 * Derives score, counts, root causes, known issues, the comparison with a baseline, and the verdict.
 * @throws RangeError if no page was tested: such a scan has failed and has no results
 */
export function deriveResults(pages: ReportPage[], thresholds: Thresholds, judgedBy: JudgedBy = {}): Results {
  const { partial = false, baseline: against, known: chosen, found } = judgedBy;
  const tested = testedPages(pages);
  const violations = sumCounts(tested.map((page) => countViolations(page.violations)));
  const value = scanScore(
    tested.map((page) => page.rules),
    violations.total,
  );
  const causes = rootCausesOf(pages, 'violations');
  const issues = chosen !== undefined && chosen.issues.length + chosen.leftOut > 0 ? chosen : undefined;
  const known = issues && applyKnownIssues(issues, tested, causes, partial);
  const groups = known?.groups ?? causes;
  const compared =
    against &&
    compareWithBaseline(
      against.chosen,
      {
        ...against,
        pages,
        score: { score_version: SCORE_VERSION },
        fingerprint_version: FINGERPRINT_VERSION,
        states: { version: STATES_VERSION },
      },
      groups,
      issues && knownMatcher(issues.issues),
    );
  const { total: attempted } = countPages(pages);
  const score = {
    value,
    score_version: SCORE_VERSION,
    pages_tested: tested.length,
    pages_attempted: attempted,
    pages_found: pages.length,
    needs_review: sumCounts(tested.map((page) => countViolations(page.needs_review))).total,
  };
  const sections = { ...(compared && { baseline: compared.baseline }), ...(known && { known_issues: known.section }) };
  const outcome = outcomeOf({ score, counts: violations, ...sections });
  return {
    outcome,
    verdict: partial ? judgePartial(thresholds, outcome) : withDiscovery(judge(thresholds, outcome), tested.length, found),
    score,
    ...sections,
    fingerprint_version: FINGERPRINT_VERSION,
    groups: compared?.groups ?? groups,
    review_groups: rootCausesOf(pages, 'needs_review'),
    advice_groups: rootCausesOf(pages, 'advice'),
  };
}

/** The message says when the scan may have missed the site. It does not change the verdict. */
function withDiscovery(verdict: Verdict, tested: number, found: JudgedBy['found']): Verdict {
  const { passed, message } = verdict;
  const note = found === undefined ? null : discoveryNote(found.discovery, { tested, maxPages: found.maxPages, passed });
  return note === null ? verdict : { passed, message: message === null ? note : `${message} ${note}` };
}

/** A partial report never passes, because the pages that are missing may have any number of violations. */
const judgePartial = (thresholds: Thresholds, outcome: Outcome): Verdict => ({
  passed: judgeWithoutResult(thresholds),
  message: [partialSentence('en'), ...notesOf([], outcome)].join(' '),
});

/** The coverage of states. Nothing if no page has any. */
export function statesOfReport(pages: readonly ReportPage[], options: Pick<ScanOptions, 'states'>): { states?: ReportStates } {
  const all = testedPages(pages).flatMap(({ states = [] }) => states);
  if (all.length === 0) return {};
  const { kinds, counted } = statesOf(options);
  const count = (kind: StateKind, result: StateResult): number => all.filter((one) => one.kind === kind && one.result === result).length;
  const numbers = kinds.map((kind) => ({
    ...{ kind, tested: count(kind, 'tested'), nothing: count(kind, 'nothing'), skipped: count(kind, 'skipped') },
  }));
  return { states: { version: STATES_VERSION, counted, kinds: numbers } };
}

export function outcomeOf(report: Pick<Report, 'score' | 'counts' | 'baseline' | 'known_issues'>): Outcome {
  const { value, pages_tested: scanned, pages_attempted: total } = report.score;
  const [baseline, known] = [baselineOutcomeOf(report), knownOutcomeOf(report)];
  return {
    score: value,
    violations: report.counts,
    pages: { scanned, failed: total - scanned, total },
    ...(baseline && { baseline }),
    ...(known && { known }),
  };
}
