/**
 * Compares completed scans with the ones before them. It has a queue and workers of its own, because results are read from the
 * object store: no comparison delays the start of a scan. The outcome is put into the schedule's state, and the schedule is
 * enqueued again. The schedule's plan decides about retries.
 */
import type { ScanSchedule } from '../../core/protocol/scan-schedules.ts';
import { fromKey } from '../runtime/key.ts';
import type { Manager } from '../runtime/controller/manager.ts';
import type { ComparisonOutcome, ComparisonState } from './policy/facts.ts';
import type { ReportComparer, StoredComparison } from '../../report/workers/compare.ts';
import type { ScheduleStates } from './state.ts';

/** Why two scans could not be compared, for people. Only an outage ends by itself. */
const REFUSALS: Readonly<Record<Extract<StoredComparison, { ok: false }>['reason'], { message: string; retry: boolean }>> = {
  not_found: { message: 'a report is not stored any more', retry: false },
  not_comparable: { message: 'a report is too large, or was made by another version', retry: false },
  unavailable: { message: 'the object store is unavailable', retry: true },
};

export interface ComparisonDeps {
  schedules: { get(namespace: string, name: string): ScanSchedule | undefined };
  states: ScheduleStates;
  comparer: ReportComparer;
  enqueueSchedule: (key: string) => void;
  now: () => Date;
}

/** More would need more memory. */
const WORKERS = 1;
/** The time limit of a comparison, in milliseconds. */
const TIMEOUT_MS = 60_000;

/** Adds the controller. @returns a function that enqueues a schedule whose state names a comparison */
export function addComparisonController(manager: Pick<Manager, 'add'>, deps: ComparisonDeps): (key: string) => void {
  async function outcomeOf({ previous, completed }: ComparisonState, signal: AbortSignal): Promise<ComparisonOutcome> {
    try {
      const time = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
      const compared = await deps.comparer.compareStored(previous.scanId, completed.scanId, time);
      return compared.ok ? compared : { ok: false, ...REFUSALS[compared.reason] };
    } catch (error) {
      signal.throwIfAborted();
      return { ok: false, message: error instanceof Error ? error.message : String(error), retry: true };
    }
  }

  return manager.add({
    name: 'comparison',
    workers: WORKERS,
    // Only the schedule controller enqueues.
    sources: [],
    async reconcile(key, signal) {
      const { namespace, name } = fromKey(key);
      const schedule = deps.schedules.get(namespace, name);
      if (schedule === undefined) return;
      const state = deps.states.of(schedule.metadata.uid!);
      const { comparison } = state;
      if (comparison === null || comparison.outcome !== null) return;
      const outcome = await outcomeOf(comparison, signal);
      // Another comparison may have replaced it.
      if (state.comparison === comparison) state.comparison = { ...comparison, outcome, at: deps.now() };
      deps.enqueueSchedule(key);
    },
  });
}
