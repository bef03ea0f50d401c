/** Plans the queue's writes: a pure function from the scans and the ScanQueue to a list of actions. */
import { isDeepStrictEqual } from 'node:util';
import { API_VERSION, DEFAULT_QUEUE, type AccessibilityScan, type ScanQueue } from '../../core/protocol/custom-resources.ts';
import type { QueueState } from '../../stores/submissions/queue-state.ts';
import { conditionOf, withConditions } from '../runtime/conditions.ts';
import type { Plan } from '../runtime/planned-reconcile.ts';
import { QUEUE_PAUSED } from '../scan/policy/status.ts';
import { decideAdmission, type QueueDecision, type QueueLoad } from './admission.ts';
import { namespacesReadable, scansInReach, type UnreadableNamespaces } from './out-of-reach.ts';
import type { Places } from './places.ts';

export interface QueueFacts {
  scans: readonly AccessibilityScan[];
  /** Null if the cache holds no ScanQueue. */
  queue: ScanQueue | null;
  /** Whether the ScanQueue was paused when it last existed. Used only while it does not exist. */
  pausedBefore: boolean;
  /** The limit if the ScanQueue does not set `maxRunning`. */
  defaultMaxRunning: number;
  /** The organisations of scans whose admission is being written, by uid. */
  taken: ReadonlyMap<string, string>;
  /** The last write of this operator to the read model; null before the first write. */
  mirrored: { state: Omit<QueueState, 'updatedAt'>; at: Date } | null;
  /** The time of this operator's last write of the ScanQueue's status. */
  statusAt: Date | null;
  /** The interval of plans without events, in milliseconds. */
  everyMs: number;
  unreadable: UnreadableNamespaces;
  /** The namespace of the ScanQueue. */
  namespace: string;
  now: Date;
}

export type QueueAction =
  /** Let scans that are being vetted take the places that are left. */
  | { do: 'open'; places: Places }
  /** Create the ScanQueue, so that it can be paused. Deleting a paused one does not resume it. */
  | { do: 'create'; queue: ScanQueue }
  /** Write the state to the read model, where the API reads it. */
  | { do: 'mirror'; state: Omit<QueueState, 'updatedAt'> }
  | { do: 'admit'; scan: AccessibilityScan }
  /** Write to the scan's status why it waits. */
  | { do: 'explainWait'; scan: AccessibilityScan; paused: boolean }
  | { do: 'writeStatus'; queue: ScanQueue; status: NonNullable<ScanQueue['status']> }
  | { do: 'measure'; load: QueueLoad };

/** The minimum time between two writes of the ScanQueue's status, however many scans come and go. */
const STATUS_EVERY_MS = 1_000;
/** The maximum number of explanations per plan, so that thousands of them do not delay admission. */
const EXPLANATIONS_MAX = 50;
/** The delay before the remaining explanations. */
const MORE_AFTER_MS = 200;

export function planQueue(facts: QueueFacts): Plan<QueueAction> {
  const { queue, now, everyMs } = facts;
  const current = queue ?? newQueue(facts);
  const decision = decideAdmission(scansInReach(facts.scans, facts.unreadable, now), current, facts.defaultMaxRunning, now, facts.taken);
  const actions: QueueAction[] = [{ do: 'open', places: decision.places }];
  const wakes = [everyMs];
  if (queue === null) actions.push({ do: 'create', queue: current });
  // First, so that the API sees a pause even if a later action fails.
  if (mirrorIsDue(facts, decision)) actions.push({ do: 'mirror', state: { paused: decision.paused, live: decision.live } });
  for (const scan of decision.admit) actions.push({ do: 'admit', scan });
  const { paused } = decision;
  const unexplained = decision.waiting.filter((scan) => isPauseExplained(scan) !== paused);
  for (const scan of unexplained.slice(0, EXPLANATIONS_MAX)) actions.push({ do: 'explainWait', scan, paused });
  if (unexplained.length > EXPLANATIONS_MAX) wakes.push(MORE_AFTER_MS);
  const status = queue && statusChange(queue, decision, facts);
  if (queue !== null && status !== null) {
    const left = facts.statusAt === null ? 0 : facts.statusAt.getTime() + STATUS_EVERY_MS - now.getTime();
    if (left > 0) wakes.push(left);
    else actions.push({ do: 'writeStatus', queue, status });
  }
  actions.push({ do: 'measure', load: decision });
  return { actions, wakeAfterMs: Math.min(...wakes) };
}

function newQueue({ namespace, pausedBefore }: QueueFacts): ScanQueue {
  return { apiVersion: API_VERSION, kind: 'ScanQueue', metadata: { name: DEFAULT_QUEUE, namespace }, spec: { paused: pausedBefore } };
}

function mirrorIsDue({ mirrored, now, everyMs }: QueueFacts, { paused, live }: QueueDecision): boolean {
  if (mirrored === null || mirrored.state.paused !== paused || mirrored.state.live !== live) return true;
  // The API rejects an outdated state.
  return now.getTime() - mirrored.at.getTime() >= everyMs;
}

/** A waiting scan's status names a pause, but not its position: each scan that leaves would change all of them. */
function isPauseExplained(scan: AccessibilityScan): boolean {
  return conditionOf(scan.status?.conditions, 'Admitted')?.reason === QUEUE_PAUSED.reason;
}

/** Returns the status to write, or null if the current one is recent enough. */
function statusChange(
  queue: ScanQueue,
  load: QueueLoad,
  { everyMs, unreadable, now }: QueueFacts,
): NonNullable<ScanQueue['status']> | null {
  const { queued, running, oldestWaitSeconds } = load;
  const current = queue.status;
  const conditions = withConditions(queue, [namespacesReadable(unreadable)], now);
  const status = { queued, running, oldestWaitSeconds, observedGeneration: queue.metadata.generation, conditions };
  const same =
    current?.queued === queued &&
    current.running === running &&
    current.observedGeneration === status.observedGeneration &&
    isDeepStrictEqual(current.conditions, conditions);
  // The waiting time always grows. If nothing else changes, it is written once per interval.
  const waitIsRecent = Math.abs((current?.oldestWaitSeconds ?? 0) - oldestWaitSeconds) * 1000 < everyMs;
  return same && waitIsRecent ? null : status;
}
