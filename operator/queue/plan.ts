/** Plans the queue's writes: a pure function from the scans and the ScanQueue to a list of actions. */
import type { AccessibilityScan, ScanQueue } from '../../core/protocol/custom-resources.ts';
import type { QueueState } from '../../stores/submissions/queue-state.ts';
import { conditionOf } from '../runtime/conditions.ts';
import type { Plan } from '../runtime/planned-reconcile.ts';
import { decideAdmission, type QueueDecision, type QueueLoad, type Waiting } from './admission.ts';

export interface QueueFacts {
  scans: readonly AccessibilityScan[];
  /** Null if the cache holds no ScanQueue. */
  queue: ScanQueue | null;
  /** The limit if the ScanQueue does not set `maxRunning`. */
  defaultMaxRunning: number;
  /** The last write of this operator to the read model; null before the first write. */
  mirrored: { state: Omit<QueueState, 'updatedAt'>; at: Date } | null;
  /** The interval of plans without events, in milliseconds. */
  everyMs: number;
  now: Date;
}

export type QueueAction =
  /** Create the ScanQueue, so that it can be paused. */
  | { do: 'create' }
  /** Write the state to the read model, where the API reads it. */
  | { do: 'mirror'; state: Omit<QueueState, 'updatedAt'> }
  | { do: 'admit'; scan: AccessibilityScan }
  /** Write to the scan's status why it waits. */
  | { do: 'explainWait'; waiting: Waiting }
  | { do: 'writeStatus'; queue: ScanQueue; status: NonNullable<ScanQueue['status']> }
  | { do: 'measure'; load: QueueLoad };

/** The maximum number of explanations per plan, so that thousands of them do not delay admission. */
const EXPLANATIONS_MAX = 50;
/** The delay before the remaining explanations. */
const MORE_AFTER_MS = 200;

export function planQueue(facts: QueueFacts): Plan<QueueAction> {
  const { queue, now, everyMs } = facts;
  const decision = decideAdmission(facts.scans, queue, facts.defaultMaxRunning, now);
  const actions: QueueAction[] = [];
  if (queue === null) actions.push({ do: 'create' });
  // First, so that the API sees a pause even if a later action fails.
  if (mirrorIsDue(facts, decision)) actions.push({ do: 'mirror', state: { paused: decision.paused, live: decision.live } });
  for (const scan of decision.admit) actions.push({ do: 'admit', scan });
  const unexplained = decision.waiting.filter(hasNewExplanation);
  for (const waiting of unexplained.slice(0, EXPLANATIONS_MAX)) actions.push({ do: 'explainWait', waiting });
  const status = queue && statusChange(queue, decision, everyMs);
  if (queue !== null && status !== null) actions.push({ do: 'writeStatus', queue, status });
  actions.push({ do: 'measure', load: decision });
  return { actions, wakeAfterMs: unexplained.length > EXPLANATIONS_MAX ? MORE_AFTER_MS : everyMs };
}

function mirrorIsDue({ mirrored, now, everyMs }: QueueFacts, { paused, live }: QueueDecision): boolean {
  if (mirrored === null || mirrored.state.paused !== paused || mirrored.state.live !== live) return true;
  // The API rejects an outdated state.
  return now.getTime() - mirrored.at.getTime() >= everyMs;
}

function hasNewExplanation({ scan, reason, message }: Waiting): boolean {
  const current = conditionOf(scan.status?.conditions, 'Admitted');
  return current?.reason !== reason || current.message !== message;
}

/** Returns the status to write, or null if the current one is recent enough. */
function statusChange(queue: ScanQueue, load: QueueLoad, everyMs: number): NonNullable<ScanQueue['status']> | null {
  const { queued, running, oldestWaitSeconds } = load;
  const current = queue.status;
  const status = { queued, running, oldestWaitSeconds, observedGeneration: queue.metadata.generation };
  const same = current?.queued === queued && current.running === running && current.observedGeneration === status.observedGeneration;
  // The waiting time always grows. If nothing else changes, it is written once per interval.
  const waitIsRecent = Math.abs((current?.oldestWaitSeconds ?? 0) - oldestWaitSeconds) * 1000 < everyMs;
  return same && waitIsRecent ? null : status;
}
