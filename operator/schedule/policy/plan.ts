/** Decides what to do about a ScanSchedule: a pure function from facts to a list of actions, each of which is idempotent. */
import { mergePatch } from '../../runtime/resource-client.ts';
import { ACTIVE_LISTED_MAX, type ScanScheduleStatus } from '../../../core/protocol/scan-schedules.ts';
import { timestamp } from '../../../platform/clock.ts';
import { conditionOf, withConditions } from '../../runtime/conditions.ts';
import type { Plan } from '../../runtime/controller.ts';
import { readiness, readinessNote } from './conditions.ts';
import { beyondLimits, failuresOf, lastTimes, unrecorded } from './history.ts';
import type { Note, ScheduleAction, ScheduleFacts } from './facts.ts';
import { judgeRegression, type Judgement } from './regression.ts';
import { decideStarts, type Starts } from './starts.ts';

/** The longest time without a plan, so that a clock that was set delays no scan for longer, in milliseconds. */
const WAKE_WITHIN_MS = 600_000;
/** The pause between two attempts to compare results during an outage, and the age of a scan after which it is given up, in milliseconds. */
export const COMPARE_RETRY_MS = 5_000;
export const COMPARE_WITHIN_MS = 900_000;
/** The time after which the API server is asked about a created scan that the cache does not hold. */
export const CREATED_CHECK_MS = 10_000;

export function planSchedule(facts: ScheduleFacts): Plan<ScheduleAction> {
  // Garbage collection deletes its scans, and each one settles its own end.
  if (facts.schedule.metadata.deletionTimestamp !== undefined) return { actions: [], wakeAfterMs: null };
  const starts = decideStarts(facts);
  // First and alone: everything else can wait, and the status follows from the scan that was created.
  if (starts.actions.length > 0) return { actions: starts.actions, wakeAfterMs: 0 };

  const judged = decideComparison(facts);
  const actions: ScheduleAction[] = [...judged.actions];
  const status = desiredStatus(facts, starts, judged.recorded);
  const patch = mergePatch(facts.schedule.status ?? {}, status.desired);
  if (patch !== null)
    actions.push({ do: 'writeStatus', status: patch, notes: status.notes, completed: judged.recorded?.completed ?? null });
  actions.push(...beyondLimits(facts).map((scan) => ({ do: 'remove', scan }) as const));
  const wakes = [WAKE_WITHIN_MS, ...starts.wakes, ...judged.wakes, ...(facts.state.created.size > 0 ? [CREATED_CHECK_MS] : [])];
  return { actions, wakeAfterMs: Math.max(0, Math.min(...wakes)) };
}

interface Compared {
  actions: ScheduleAction[];
  /** What the status records of the next completed scan; null if there is none, or while it is being compared. */
  recorded: (Judgement & { completed: ReturnType<typeof unrecorded>[number] }) | null;
  wakes: number[];
}

/** The completed scans are compared and recorded one after the other, in the order of their ends. */
function decideComparison(facts: ScheduleFacts): Compared {
  const { schedule, state, now } = facts;
  const [completed] = unrecorded(facts);
  const nothing: Compared = { actions: [], recorded: null, wakes: [] };
  if (completed === undefined) return nothing;
  const previous = schedule.status?.lastCompleted;
  const before = conditionOf(schedule.status?.conditions, 'Regressed');
  const record = (outcome: Parameters<typeof judgeRegression>[2]): Compared => {
    // Neither its verdict nor its ID is of interest here.
    const own = outcome?.ok === false && outcome.foreign ? undefined : previous;
    return { ...nothing, recorded: { completed, ...judgeRegression(completed, own, outcome, before) } };
  };
  if (previous === undefined) return record(null);

  const compare: Compared = { ...nothing, actions: [{ do: 'compare', completed, previous }] };
  const { comparison } = state;
  if (comparison?.completed.scanId !== completed.scanId || comparison.previous.scanId !== previous.scanId) return compare;
  const { outcome, at } = comparison;
  if (outcome === null || at === null) return nothing;
  if (outcome.ok || !outcome.retry || now.getTime() - Date.parse(completed.completionTime) >= COMPARE_WITHIN_MS) return record(outcome);
  const left = at.getTime() + COMPARE_RETRY_MS - now.getTime();
  return left > 0 ? { ...nothing, wakes: [left] } : compare;
}

function desiredStatus(
  facts: ScheduleFacts,
  starts: Starts,
  recorded: Compared['recorded'],
): { desired: ScanScheduleStatus; notes: Note[] } {
  const { schedule, state, now } = facts;
  const { lastScheduleTime, lastMissedTime, nextScheduleTime, lastRunRequest, observedSchedule, active } = starts;
  const failures = failuresOf(facts);
  const updates = [...readiness(starts, state.refusal, failures), failures.condition];
  const notReady = readinessNote(facts, updates);
  const current = schedule.status ?? {};
  const comparison = recorded === null ? current.comparison : (recorded.comparison ?? undefined);
  const lastCompleted = recorded?.completed ?? current.lastCompleted;
  const desired: ScanScheduleStatus = {
    observedGeneration: schedule.metadata.generation,
    activeCount: active.length,
    active: active.slice(0, ACTIVE_LISTED_MAX).map(({ metadata }) => ({ name: metadata.name, uid: metadata.uid! })),
    ...(lastScheduleTime && { lastScheduleTime: timestamp(lastScheduleTime) }),
    ...(lastMissedTime && { lastMissedTime: timestamp(lastMissedTime) }),
    ...lastTimes(facts),
    ...(nextScheduleTime && { nextScheduleTime: timestamp(nextScheduleTime) }),
    observedSchedule,
    ...(lastRunRequest !== undefined && { lastRunRequest }),
    ...(lastCompleted && { lastCompleted }),
    ...(comparison && { comparison }),
    ...failures.status,
    conditions: withConditions(schedule, [...updates, ...(recorded === null ? [] : [recorded.condition])], now),
  };
  const notes = [...starts.notes, ...failures.notes, ...(notReady === null ? [] : [notReady]), ...(recorded?.note ? [recorded.note] : [])];
  return { desired, notes };
}
