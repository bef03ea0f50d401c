/** Whether a scan passed, and in which words it did not. */
import { IMPACTS, hasThresholds, type Counts, type Thresholds } from './options.ts';

/** `passed` is null when no threshold was set; `message` names each missed threshold, and is null when none was. */
export interface Verdict {
  passed: boolean | null;
  message: string | null;
}

/** The verdict over a finished scan (decisions, "Scan results"). */
export function judge(thresholds: Thresholds, score: number, violations: Counts): Verdict {
  if (!hasThresholds(thresholds)) return { passed: null, message: null };
  const missed = missedThresholds(thresholds, score, violations);
  if (missed.length === 0) return { passed: true, message: null };
  return { passed: false, message: missed.join(' ') };
}

/** The verdict over a scan that ended without a result: with thresholds set it did not pass, for a build must not pass because its scan broke. */
export function judgeWithoutResult(thresholds: Thresholds): boolean | null {
  return hasThresholds(thresholds) ? false : null;
}

/** One sentence for each threshold that was missed, with the measured and the allowed value. */
export function missedThresholds(thresholds: Thresholds, score: number, violations: Counts): string[] {
  const missed: string[] = [];
  const { minScore, maxViolations, failOnSeverity } = thresholds;
  if (minScore !== undefined && score < minScore) missed.push(`The score is ${score}, below the minimum of ${minScore}.`);
  if (maxViolations !== undefined && violations.total > maxViolations)
    missed.push(`There are ${violations.total} violations, more than the ${maxViolations} allowed.`);
  if (failOnSeverity !== undefined) {
    const worst = IMPACTS.slice(0, IMPACTS.indexOf(failOnSeverity) + 1);
    const found = worst.filter((impact) => violations[impact] > 0).map((impact) => `${violations[impact]} ${impact}`);
    if (found.length > 0)
      missed.push(`There are violations of severity ${failOnSeverity} or worse, of which none is allowed: ${found.join(', ')}.`);
  }
  return missed;
}
