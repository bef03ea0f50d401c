/** Whether a built-in queue takes further submissions, from the state that the operator mirrors to MongoDB. */
import type { BuiltInQueue } from '../../../core/protocol/custom-resources.ts';
import type { QueueState, QueueStates } from '../../../stores/submissions/queue-state.ts';
import type { ApiStores } from '../../dependencies.ts';

/** The operator writes the state every 10 s. An older one says nothing about the number of live scans. */
const OUTDATED_AFTER_MS = 60_000;

export interface QueueGateDeps {
  queueStates: Pick<QueueStates, 'read'>;
  scans: Pick<ApiStores['scans'], 'countLive'>;
  now: () => Date;
  /** Default: the default queue. */
  queue?: BuiltInQueue;
  /** Null: the credits store bounds the live scans. */
  maxLiveScans: number | null;
  /** How long one answer is used for all submissions to this replica, in milliseconds. */
  cacheMs: number;
}

/** Returns why the queue takes no submission now, or null. */
export type QueueGate = () => Promise<'queue_paused' | 'queue_full' | null>;

export function createQueueGate({ queueStates, scans, now, queue, maxLiveScans, cacheMs }: QueueGateDeps): QueueGate {
  let cached: { until: number; answer: ReturnType<QueueGate> } | null = null;

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
    const at = now().getTime();
    if (cached === null || at >= cached.until) {
      const entry = { until: at + cacheMs, answer: look() };
      cached = entry;
      // An outage must not last longer than it does.
      entry.answer.catch(() => {
        if (cached === entry) cached = null;
      });
    }
    return cached.answer;
  };
}
