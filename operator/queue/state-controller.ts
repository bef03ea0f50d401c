/** Mirrors for the API whether the default queue is paused, and the number of live scans of the installation. */
import { DEFAULT_QUEUE } from '../../core/protocol/custom-resources.ts';
import type { QueueStates } from '../../stores/submissions/queue-state.ts';
import type { OperatorMetrics } from '../metrics.ts';
import { dueIn, type Clock } from '../runtime/clock.ts';
import { toKey } from '../runtime/key.ts';
import { watch, type ControllerDefinition, type Manager } from '../runtime/manager.ts';
import type { ScanClient } from '../scan/scan-client.ts';
import type { QueueClient } from './queue-client.ts';
import { isLive } from './standing.ts';
import { COUNT_EVERY_MS, planState, type StateAction, type StateFacts } from './state-plan.ts';

export interface StateControllerDeps {
  manager: Pick<Manager, 'lanes'>;
  scanClient: ScanClient;
  queueClient: QueueClient;
  queueStates: Pick<QueueStates, 'write'>;
  metrics: Pick<OperatorMetrics, 'live'>;
  clock: Clock;
}

const EVERY_MS = 10_000;

export function createStateController(deps: StateControllerDeps): ControllerDefinition<StateFacts, StateAction> {
  const { manager, scanClient, queueClient, queueStates, metrics, clock } = deps;
  const key = toKey(queueClient.namespace, DEFAULT_QUEUE);
  let mirrored: StateFacts['mirrored'] = null;

  async function isPaused(): Promise<boolean> {
    const queue = queueClient.get(queueClient.namespace, DEFAULT_QUEUE);
    return queue === undefined ? queueClient.pausedBefore() : (queue.spec.paused ?? false);
  }

  return {
    name: 'queue-state',
    workers: 1,
    maxBackOffMs: 5_000,
    sources: [
      (enqueue) => {
        enqueue(key);
        return () => undefined;
      },
      // Most changes of a scan do not change whether it is live.
      watch(scanClient, ({ type, object, previous }) =>
        type !== 'modified' || previous === undefined || isLive(object) !== isLive(previous) ? [key] : [],
      ),
      watch(queueClient, ({ object }) => (object.metadata.name === DEFAULT_QUEUE ? [key] : [])),
      (enqueue) => manager.lanes.onChange(() => enqueue(key)),
    ],
    acrossNamespaces: true,
    async gather() {
      const paused = await isPaused();
      const now = new Date(clock.now());
      const isRecent = mirrored?.state.paused === paused && dueIn(mirrored.at, COUNT_EVERY_MS, now) > 0;
      return {
        paused,
        scans: isRecent ? null : scanClient.list(),
        unreadable: manager.lanes.unreadable(),
        mirrored,
        everyMs: EVERY_MS,
        now,
      };
    },
    plan: planState,
    async execute({ actions, wakeAfterMs }, { now }) {
      for (const action of actions) {
        if (action.do === 'measure') metrics.live(action.live);
        else {
          await queueStates.write(action.state);
          mirrored = { state: action.state, at: now };
        }
      }
      return { requeueAfterMs: wakeAfterMs ?? EVERY_MS };
    },
  };
}
