/**
 * The conditions of a scan that state whether it is over. `Succeeded` and `Complete` are for people and `kubectl wait`;
 * `Reconciling` and `Stalled` are those of kstatus, with which Flux and other tools judge custom resources. Pure.
 */
import type { AccessibilityScan, Condition } from '../../../core/protocol/custom-resources.ts';
import { withConditions, type ConditionUpdate } from '../../runtime/conditions.ts';

/** What a scan in progress does or waits for, or why it ended. */
export interface Why {
  reason: string;
  message: string;
}

/** The updates for a scan in progress. */
export function liveUpdates(why: Why): ConditionUpdate[] {
  return [
    { type: 'Complete', status: 'False', reason: 'InProgress', message: 'The scan has not ended.' },
    { type: 'Reconciling', status: 'True', ...why },
    { type: 'Succeeded', status: 'Unknown', ...why },
  ];
}

/**
 * The updates for a scan that ended.
 * @param problem why tools should report the scan as failed: it failed, or did not pass. Null if they should not
 */
export function endedUpdates(succeeded: boolean, why: Why, problem: Why | null): ConditionUpdate[] {
  return [
    { type: 'Complete', status: 'True', ...why },
    { type: 'Reconciling', status: 'False', reason: why.reason, message: 'The scan has ended.' },
    problem === null
      ? { type: 'Stalled', status: 'False', reason: why.reason, message: 'The scan did not fail.' }
      : { type: 'Stalled', status: 'True', ...problem },
    { type: 'Succeeded', status: succeeded ? 'True' : 'False', ...why },
  ];
}

/**
 * The scan's conditions with updates. Each write of the status considers the whole spec, so every condition states the current
 * generation: `kubectl wait` ignores a condition of an older one.
 */
export function scanConditions(scan: AccessibilityScan, updates: readonly ConditionUpdate[], now: Date): Condition[] {
  return withConditions(scan, updates, now).map((condition) => ({ ...condition, observedGeneration: scan.metadata.generation }));
}
