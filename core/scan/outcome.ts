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

type ScoresOf<Score> = Omit<KnownOutcome, 'score' | 'scoreWithoutDecisions'> & { score: Score; scoreWithoutDecisions?: Score };

/** An outcome in the status of a custom resource. Kubernetes advises against floating-point numbers, so the score is a string. */
export interface OutcomeStatus {
  /** A decimal number: `"97.5"`. */
  score?: string;
  violations?: Counts;
  pages?: { scanned: number; failed: number };
  /** Chosen before the Job is created; what the comparison says is added at the end. */
  baseline?: BaselineOutcome;
  known?: ScoresOf<string>;
}

const withScores = <From, To>({ scoreWithoutDecisions: decided, ...known }: ScoresOf<From>, to: (score: From) => To): ScoresOf<To> => ({
  ...{ ...known, score: to(known.score) },
  ...(decided !== undefined && { scoreWithoutDecisions: to(decided) }),
});

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
    ...(known && { known: withScores(known, String) }),
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
    ...(known && { known: withScores(known, Number) }),
  };
}
