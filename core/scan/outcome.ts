/** The results of a scan that is done. MongoDB stores the score as a number, the status as a decimal string. */
import type { BaselineOutcome } from './baseline.ts';
import type { Counts, PageProgress } from './counts.ts';

export interface Outcome {
  /** 0 to 100, one decimal. */
  score: number;
  violations: Counts;
  /** At the end of a scan `total` is the number of attempted pages: `scanned` plus `failed`. */
  pages: PageProgress;
  /** Only if the scan has a baseline. */
  baseline?: BaselineOutcome;
}

/** Score and violation counts under the field names of the HTTP API; null without a result. */
export function findings(outcome: Pick<Outcome, 'score' | 'violations'> | null) {
  return {
    score: outcome?.score ?? null,
    violations_count: outcome?.violations.total ?? null,
    violations_critical: outcome?.violations.critical ?? null,
    violations_serious: outcome?.violations.serious ?? null,
    violations_moderate: outcome?.violations.moderate ?? null,
    violations_minor: outcome?.violations.minor ?? null,
  };
}

/** An outcome in the status of a custom resource. Kubernetes advises against floating-point numbers, so the score is a string. */
export interface OutcomeStatus {
  /** A decimal number: `"97.5"`. */
  score?: string;
  violations?: Counts;
  pages?: { scanned: number; failed: number };
  /** Chosen before the Job is created; what the comparison says is added at the end. */
  baseline?: BaselineOutcome;
}

export function toOutcomeStatus({
  score,
  violations,
  pages,
  baseline,
}: Outcome): Required<Omit<OutcomeStatus, 'baseline'>> & Pick<OutcomeStatus, 'baseline'> {
  return { score: String(score), violations, pages: { scanned: pages.scanned, failed: pages.failed }, ...(baseline && { baseline }) };
}

/** Returns null if the status has no outcome. */
export function fromOutcomeStatus({ score, violations, pages, baseline }: OutcomeStatus): Outcome | null {
  if (score === undefined || violations === undefined || pages === undefined) return null;
  const { scanned, failed } = pages;
  return { score: Number(score), violations, pages: { scanned, failed, total: scanned + failed }, ...(baseline && { baseline }) };
}
