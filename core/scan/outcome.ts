/** The results of a scan that is done, or of the pages that a canceled scan has tested. MongoDB stores the score as a number, the status as a decimal string. */
import type { BaselineOutcome } from './baseline.ts';
import type { Counts, PageProgress } from './counts.ts';
import type { KnownOutcome } from './known-issues.ts';

export interface Outcome {
  /** 0 to 100, one decimal. */
  score: number;
  violations: Counts;
  /** At the end of a scan `total` is the number of attempted pages: `scanned` plus `failed`. */
  pages: PageProgress;
  /** Only if the scan has a baseline. */
  baseline?: BaselineOutcome;
  /** Only if the site has known issues. `score` and `violations` include them. */
  known?: KnownOutcome;
}

/** Score and violations without known issues: what thresholds judge. */
export const withoutKnown = ({ score, violations, known }: Pick<Outcome, 'score' | 'violations' | 'known'>) =>
  known ?? { score, violations };

/** Score and violation counts under the field names of the HTTP API; null without a result. */
export function findings(outcome: Pick<Outcome, 'score' | 'violations' | 'known'> | null) {
  const open = outcome && withoutKnown(outcome);
  return {
    score: outcome?.score ?? null,
    violations_count: outcome?.violations.total ?? null,
    violations_critical: outcome?.violations.critical ?? null,
    violations_serious: outcome?.violations.serious ?? null,
    violations_moderate: outcome?.violations.moderate ?? null,
    violations_minor: outcome?.violations.minor ?? null,
    score_without_known: open?.score ?? null,
    violations_new_or_open: open?.violations.total ?? null,
  };
}

/** The comparison with a baseline under the field names of the HTTP API. @param named the scan that the submission names, if it names one */
export function baselineResult({ scanId, problem, difference }: Partial<BaselineOutcome>, named?: string) {
  return {
    scan_id: scanId ?? named ?? null,
    problem: problem ?? null,
    new: difference?.new ?? null,
    new_known: difference === undefined ? null : (difference.newKnown ?? 0),
    on_new_pages: difference?.onNewPages ?? null,
    fixed: difference?.fixed ?? null,
    unchanged: difference?.unchanged ?? null,
    not_tested: difference?.notTested ?? null,
  };
}

/** The numbers of known issues under the field names of the HTTP API; null if the site has none. */
export function knownResult(outcome: Pick<Outcome, 'known'> | null) {
  if (outcome?.known === undefined) return null;
  const { matched, unmatched, ending } = outcome.known;
  return { matched, unmatched, ending };
}

/** An outcome in the status of a custom resource. Kubernetes advises against floating-point numbers, so the score is a string. */
export interface OutcomeStatus {
  /** A decimal number: `"97.5"`. */
  score?: string;
  violations?: Counts;
  pages?: { scanned: number; failed: number };
  /** Chosen before the Job is created; what the comparison says is added at the end. */
  baseline?: BaselineOutcome;
  known?: Omit<KnownOutcome, 'score'> & { score: string };
}

type Comparisons = 'baseline' | 'known';

export function toOutcomeStatus({
  score,
  violations,
  pages,
  baseline,
  known,
}: Outcome): Required<Omit<OutcomeStatus, Comparisons>> & Pick<OutcomeStatus, Comparisons> {
  return {
    score: String(score),
    violations,
    pages: { scanned: pages.scanned, failed: pages.failed },
    ...(baseline && { baseline }),
    ...(known && { known: { ...known, score: String(known.score) } }),
  };
}

/** Returns null if the status has no outcome. */
export function fromOutcomeStatus({ score, violations, pages, baseline, known }: OutcomeStatus): Outcome | null {
  if (score === undefined || violations === undefined || pages === undefined) return null;
  const { scanned, failed } = pages;
  return {
    score: Number(score),
    violations,
    pages: { scanned, failed, total: scanned + failed },
    ...(baseline && { baseline }),
    ...(known && { known: { ...known, score: Number(known.score) } }),
  };
}
