/** Whether a built-in queue takes further submissions, from the state that the operator mirrors to MongoDB. */
import { DEFAULT_QUEUE, type BuiltInQueue } from '../../../core/protocol/custom-resources.ts';
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';
import type { QueueState, QueueStates } from '../../../stores/submissions/queue-state.ts';
import type { ApiStores } from '../../dependencies.ts';

/** The operator writes the state every 10 s. An older one says nothing about the number of live scans. */
const OUTDATED_AFTER_MS = 60_000;

export interface QueueGateDeps {
  queueStates: Pick<QueueStates, 'read'>;
  scans: Pick<ApiStores['scans'], 'countLive'>;
  now: () => Date;
  monotonic?: () => number;
  queue?: BuiltInQueue;
  /** Null: the credits store bounds the live scans. */
  maxLiveScans: number | null;
  /** How long one answer is used for all submissions to this replica, in milliseconds. */
  cacheMs: number;
}

/** Returns why the queue takes no submission now, or null. */
export type QueueGate = () => Promise<'queue_paused' | 'queue_full' | null>;

export function createQueueGate({ queue = DEFAULT_QUEUE, monotonic, ...deps }: QueueGateDeps): QueueGate {
  const { queueStates, scans, now, maxLiveScans, cacheMs } = deps;
  const cached = new BoundedMap<ReturnType<QueueGate>>({ max: 1, monotonic });

  /** Without a current state, as while the operator is down, the live rows count: submissions must not pile up without bound. */
  function live(state: QueueState, limit: number): number | Promise<number> {
    const ageMs = now().getTime() - state.updatedAt.getTime();
    return ageMs > OUTDATED_AFTER_MS ? scans.countLive(limit) : state.live;
  }

  async function look(): ReturnType<QueueGate> {
    const state = await queueStates.read(queue);
    if (state.paused) return 'queue_paused';
    return maxLiveScans !== null && (await live(state, maxLiveScans)) >= maxLiveScans ? 'queue_full' : null;
  }

  return async () => {
    const known = cached.get(queue);
    if (known !== null) return known;
    const answer = look();
    cached.set(queue, answer, cacheMs);
    // An outage must not last longer than it does.
    answer.catch(() => cached.get(queue) === answer && cached.delete(queue));
    return answer;
  };
}
