/** What the comparison of a completed scan with the one before it says. Pure. */
import type { Condition } from '../../../core/protocol/custom-resources.ts';
import type { CompletedScan, ScanComparison } from '../../../core/protocol/scan-schedules.ts';
import { type ConditionUpdate, cutMessage } from '../../runtime/conditions.ts';
import type { UNFAIR_CAVEATS } from '../../../report/diff/caveats.ts';
import type { ComparedReports } from '../../../report/diff/summary.ts';
import type { ComparisonOutcome, Note } from './facts.ts';

export interface Judgement {
  comparison: ScanComparison | null;
  condition: ConditionUpdate;
  note: Note | null;
}

const violations = (count: number): string => `${count} ${count === 1 ? 'violation' : 'violations'}`;

/** What differs between the scans so that new violations may not be the site's. A schedule may have got another address. */
const OTHER_SCANS: Readonly<Record<(typeof UNFAIR_CAVEATS)[number] | 'site', string>> = {
  site: 'they begin at different addresses',
  wcag: 'they test different WCAG versions or levels',
  axe_core: 'they were made with different versions of axe-core',
  score_version: 'they were made with different checks',
  fingerprint_version: 'they were made with different versions of Curbcut',
};
export const REGRESSED = 'Regressed';
const EXAMPLES_MAX = 2;
const MESSAGE_MAX = 1000;

/**
 * A schedule has regressed if its last scan missed its thresholds and an earlier one met them, until one meets them again. It has
 * also regressed if the last scan has new violations on pages that the one before it tested too, or of new root causes. A new page
 * with the same faults as the others is no regression, and neither are known issues.
 * @param before the current condition
 */
export function judgeRegression(
  completed: CompletedScan,
  previous: CompletedScan | undefined,
  outcome: ComparisonOutcome | null,
  before: Condition | undefined,
): Judgement {
  if (previous === undefined) {
    const condition = changed(
      'False',
      'FirstScan',
      `${completed.name} is the first completed scan of this schedule for its organisation and site.`,
    );
    return { comparison: null, condition, note: null };
  }
  const comparison = outcome?.ok ? { scan: completed.name, previous: previous.name, ...numbersOf(outcome) } : null;
  const failsSince = previous.passed === false && before?.status === 'True' && before.reason === 'NoLongerPasses';
  const noLongerPasses = completed.passed === false && (previous.passed === true || failsSince);
  const condition = noLongerPasses
    ? changed('True', 'NoLongerPasses', `${completed.name} does not meet its thresholds. ${describe(completed, previous, outcome)}`)
    : conditionOf(completed, previous, outcome);
  return { comparison, condition, note: noteOn(condition, before, { completed, previous, comparison }) };
}

const changed = (status: Condition['status'], reason: string, message: string): ConditionUpdate => ({
  type: 'Regressed',
  status,
  reason,
  message: cutMessage(message, MESSAGE_MAX),
});

export function numbersOf({
  new: added,
  onNewPages,
  newKnown,
  newCauses,
  fixed,
  unchanged,
  notTested,
}: ComparedReports): Omit<ScanComparison, 'scan' | 'previous'> {
  return { new: added, onNewPages, ...(newKnown > 0 && { newKnown }), newRootCauses: newCauses, fixed, unchanged, notTested };
}

function conditionOf(completed: CompletedScan, previous: CompletedScan, outcome: ComparisonOutcome | null): ConditionUpdate {
  const difference = describe(completed, previous, outcome);
  if (outcome === null || !outcome.ok) return changed('Unknown', 'NotCompared', difference);
  if (outcome.judged === 0) return changed('False', 'NothingNew', difference);
  const why = outcome.caveats.flatMap((caveat) => (caveat in OTHER_SCANS ? [OTHER_SCANS[caveat as keyof typeof OTHER_SCANS]] : []));
  if (why.length === 0) return changed('True', 'NewViolations', difference);
  return changed('Unknown', 'ScansDiffer', `The scans cannot be compared fairly: ${why.join(', and ')}. ${difference}`);
}

function describe(completed: CompletedScan, previous: CompletedScan, outcome: ComparisonOutcome | null): string {
  const pair = `${completed.name}, compared with ${previous.name}`;
  if (outcome === null || !outcome.ok)
    return `${pair}: the results could not be compared, because ${outcome?.message ?? 'there is no answer'}.`;
  const examples = outcome.examples.slice(0, EXAMPLES_MAX).map(({ rule, page, selector }) => `${rule} on ${page} at ${selector}`);
  const shown = examples.length === 0 ? '' : ` (${examples.join('; ')})`;
  const known = outcome.newKnown === 0 ? '' : `, of which ${outcome.newKnown} known`;
  return `${pair}: ${violations(outcome.new)} new${shown}${known}, ${outcome.fixed} fixed, ${outcome.unchanged} unchanged.`;
}

/** Each regression is an Event. A recovery is one if the scan meets its thresholds again, or if violations were fixed. */
function noteOn(
  { status, message }: ConditionUpdate,
  before: Condition | undefined,
  { completed, previous, comparison }: { completed: CompletedScan; previous: CompletedScan; comparison: ScanComparison | null },
): Note | null {
  if (status === 'True') return { type: 'Warning', reason: REGRESSED, message };
  const passesAgain = completed.passed === true && previous.passed === false;
  const fixed = completed.passed !== false && (comparison?.fixed ?? 0) > 0;
  if (before?.status !== 'True' || !(passesAgain || fixed)) return null;
  return { type: 'Normal', reason: 'Recovered', message };
}
