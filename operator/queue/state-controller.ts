/** Mirrors for the API whether the built-in queues are paused, and the number of live scans. */
import { BUILT_IN_QUEUES, isBuiltInQueue, type BuiltInQueue } from '../../core/protocol/custom-resources.ts';
import type { QueueStates } from '../../stores/submissions/queue-state.ts';
import type { OperatorMetrics } from '../metrics.ts';
import { dueIn, type Clock } from '../../platform/clock.ts';
import { fromKey, toKey } from '../runtime/cache.ts';
import { watch, type Manager } from '../runtime/manager.ts';
import type { ScanClient } from '../scan/kube-types.ts';
import type { QueueClient } from './queue-client.ts';
import { countsAsLive, COUNT_EVERY_MS, planState, stateOf, type StateFacts } from './state-plan.ts';

export interface StateControllerDeps {
  scanClient: ScanClient;
  queueClient: QueueClient;
  queueStates: Pick<QueueStates, 'write'>;
  metrics: Pick<OperatorMetrics, 'live'>;
  clock: Clock;
}

const EVERY_MS = 10_000;

export function addStateController(manager: Pick<Manager, 'add' | 'lanes'>, deps: StateControllerDeps): void {
  const { scanClient, queueClient, queueStates, metrics, clock } = deps;
  const { namespace } = queueClient;
  const keyOf = (name: BuiltInQueue) => toKey(namespace, name);
  const keys = BUILT_IN_QUEUES.map(keyOf);
  const mirrored = new Map<BuiltInQueue, NonNullable<StateFacts['mirrored']>>();

  async function isPaused(name: BuiltInQueue): Promise<boolean> {
    const queue = queueClient.get(namespace, name);
    return queue === undefined ? queueClient.pausedBefore(name) : (queue.spec.paused ?? false);
  }

  manager.add({
    name: 'queue-state',
    workers: 1,
    maxBackOffMs: 5_000,
    sources: [
      (enqueue) => {
        keys.forEach((key) => enqueue(key));
        return () => undefined;
      },
      // Most changes of a scan do not change whether it is live.
      watch(scanClient, ({ type, object, previous }) =>
        type !== 'modified' || previous === undefined || countsAsLive(object, namespace) !== countsAsLive(previous, namespace)
          ? [keyOf(stateOf(object))]
          : [],
      ),
      watch(queueClient, ({ object: { metadata } }) => (isBuiltInQueue(metadata.name) ? [keyOf(metadata.name)] : [])),
      (enqueue) => manager.lanes.onChange(() => keys.forEach((key) => enqueue(key))),
    ],
    acrossNamespaces: true,
    async reconcile(key) {
      const name = fromKey(key).name as BuiltInQueue;
      const paused = await isPaused(name);
      const now = clock.now();
      const last = mirrored.get(name) ?? null;
      const isRecent = last?.state.paused === paused && dueIn(last.at, COUNT_EVERY_MS, now) > 0;
      const scans = isRecent ? null : scanClient.list();
      const unreadable = manager.lanes.unreadable();
      const { actions, wakeAfterMs } = planState({ name, namespace, paused, scans, unreadable, mirrored: last, everyMs: EVERY_MS, now });
      for (const action of actions) {
        if (action.do === 'measure') metrics.live(action.live);
        else {
          await queueStates.write(action.state, name);
          mirrored.set(name, { state: action.state, at: now });
        }
      }
      return { requeueAfterMs: wakeAfterMs };
    },
  });
}
