/** What the comparison of a completed scan with the one before it says. Pure. */
import type { Condition } from '../../../core/protocol/custom-resources.ts';
import type { CompletedScan, ScanComparison } from '../../../core/protocol/scan-schedules.ts';
import type { ConditionUpdate } from '../../runtime/conditions.ts';
import type { ComparisonOutcome, Note } from './facts.ts';

export interface Judgement {
  comparison: ScanComparison | null;
  condition: ConditionUpdate;
  note: Note | null;
}

const causes = (count: number): string => `${count} ${count === 1 ? 'root cause' : 'root causes'}`;

/**
 * A schedule has regressed if its last scan missed its thresholds and an earlier one met them, until one meets them again;
 * or if the last scan has root causes that the one before it did not have.
 * @param before the current condition
 */
export function judgeRegression(
  completed: CompletedScan,
  previous: CompletedScan | undefined,
  outcome: ComparisonOutcome | null,
  before: Condition | undefined,
): Judgement {
  if (previous === undefined) return firstScan(completed);
  const comparison: ScanComparison | null = outcome?.ok
    ? { scan: completed.name, previous: previous.name, new: outcome.new, fixed: outcome.fixed, unchanged: outcome.unchanged }
    : null;
  const failsSince = previous.passed === false && before?.status === 'True' && before.reason === 'NoLongerPasses';
  const noLongerPasses = completed.passed === false && (previous.passed === true || failsSince);
  const hasNew = (comparison?.new ?? 0) > 0;
  const difference = describe(completed, previous, outcome);
  const condition = conditionFor(noLongerPasses, hasNew, comparison !== null, completed, difference);
  return { comparison, condition, note: noteOn(condition, before, { completed, previous, comparison }) };
}

function firstScan(completed: CompletedScan): Judgement {
  const message = `${completed.name} is the first completed scan of this schedule.`;
  return { comparison: null, condition: { type: 'Regressed', status: 'False', reason: 'FirstScan', message }, note: null };
}

function conditionFor(
  noLongerPasses: boolean,
  hasNew: boolean,
  compared: boolean,
  { name }: CompletedScan,
  difference: string,
): ConditionUpdate {
  const type = 'Regressed';
  if (noLongerPasses)
    return { type, status: 'True', reason: 'NoLongerPasses', message: `${name} does not meet its thresholds. ${difference}` };
  if (hasNew) return { type, status: 'True', reason: 'NewRootCauses', message: difference };
  if (!compared) return { type, status: 'Unknown', reason: 'NotCompared', message: difference };
  return { type, status: 'False', reason: 'NothingNew', message: difference };
}

function describe(completed: CompletedScan, previous: CompletedScan, outcome: ComparisonOutcome | null): string {
  const pair = `${completed.name}, compared with ${previous.name}`;
  if (outcome === null || !outcome.ok)
    return `${pair}: the results could not be compared (${(outcome?.message ?? 'no answer').replace(/\.$/, '').slice(0, 500)}).`;
  const examples = outcome.new > 0 && outcome.examples.length > 0 ? ` (${outcome.examples.join(', ').slice(0, 300)})` : '';
  return `${pair}: ${causes(outcome.new)} new${examples}, ${outcome.fixed} fixed, ${outcome.unchanged} unchanged.`;
}

/** Each regression is an Event. A recovery is one if the scan meets its thresholds again, or if root causes were fixed. */
function noteOn(
  { status, message }: ConditionUpdate,
  before: Condition | undefined,
  { completed, previous, comparison }: { completed: CompletedScan; previous: CompletedScan; comparison: ScanComparison | null },
): Note | null {
  if (status === 'True') return { type: 'Warning', reason: 'Regressed', message };
  const passesAgain = completed.passed === true && previous.passed === false;
  const fixed = completed.passed !== false && (comparison?.fixed ?? 0) > 0;
  if (before?.status !== 'True' || !(passesAgain || fixed)) return null;
  return { type: 'Normal', reason: 'Recovered', message };
}
