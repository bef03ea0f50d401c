/** The ScanQueue controller: admits scans, updates the status of waiting ones, and mirrors the queue state for the API. */
import { API_VERSION, DEFAULT_QUEUE, type ScanQueue } from '../../core/protocol/custom-resources.ts';
import { KubernetesError, type KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import type { QueueStates } from '../../stores/submissions/queue-state.ts';
import type { OperatorMetrics } from '../metrics.ts';
import type { Clock } from '../runtime/clock.ts';
import { watch, type ControllerDefinition, type Manager } from '../runtime/manager.ts';
import type { Recorder } from '../runtime/recorder.ts';
import { createResourceClient, type ResourceClient } from '../runtime/resource-client.ts';
import { QUEUES } from '../scan/kube-types.ts';
import { admittedStatus, waitingStatus } from '../scan/policy/status.ts';
import type { ScanClient } from '../scan/scan-client.ts';
import { planQueue, type QueueAction, type QueueFacts } from './plan.ts';

export interface QueueControllerDeps {
  manager: Pick<Manager, 'watch'>;
  connection: KubernetesConnection;
  scanClient: ScanClient;
  queueStates: Pick<QueueStates, 'write'>;
  recorder: Recorder;
  metrics: Pick<OperatorMetrics, 'queue'>;
  namespace: string;
  defaultMaxRunning: number;
  clock: Clock;
}

/** There is only one queue. A single key also prevents two workers from admitting at the same time. */
const KEY = DEFAULT_QUEUE;
/** The API rejects a queue state that is older than a few of these intervals. */
const EVERY_MS = 10_000;
const CONFLICT_RETRY_MS = 200;

export function createQueueController(deps: QueueControllerDeps): ControllerDefinition<QueueFacts, QueueAction> {
  const { manager, connection, scanClient, namespace, clock } = deps;
  const cache = manager.watch<ScanQueue>({ resource: QUEUES, namespaces: [namespace] });
  const queues = createResourceClient<ScanQueue>({ connection, resource: QUEUES, cache });
  const act = createQueueActions(deps, queues);
  let mirrored: QueueFacts['mirrored'] = null;

  return {
    name: 'queue',
    workers: 1,
    maxBackOffMs: 5_000,
    sources: [
      (enqueue) => {
        // A queue that does not exist yet emits no event.
        enqueue(KEY);
        return () => undefined;
      },
      watch(scanClient, () => [KEY]),
      watch(queues, () => [KEY]),
    ],
    gather: async () => ({
      scans: scanClient.list(),
      queue: queues.get(namespace, DEFAULT_QUEUE) ?? null,
      defaultMaxRunning: deps.defaultMaxRunning,
      mirrored,
      everyMs: EVERY_MS,
      now: new Date(clock.now()),
    }),
    plan: planQueue,
    async execute({ actions, wakeAfterMs }, facts, signal) {
      let conflict = false;
      for (const action of actions) {
        signal.throwIfAborted();
        const written = await skipConflict(() => act(action, facts, signal));
        if (action.do === 'mirror') mirrored = { state: action.state, at: facts.now };
        // The next plan updates the status of the waiting scan.
        if (!written && action.do !== 'explainWait') conflict = true;
      }
      return { requeueAfterMs: conflict ? CONFLICT_RETRY_MS : (wakeAfterMs ?? EVERY_MS) };
    },
  };
}

function createQueueActions(
  { scanClient, queueStates, recorder, metrics, namespace }: QueueControllerDeps,
  queues: ResourceClient<ScanQueue>,
) {
  return async (action: QueueAction, { now }: QueueFacts, signal: AbortSignal): Promise<void> => {
    switch (action.do) {
      case 'create':
        await queues.create(
          { apiVersion: API_VERSION, kind: 'ScanQueue', metadata: { name: DEFAULT_QUEUE, namespace }, spec: { paused: false } },
          signal,
        );
        return;
      case 'mirror':
        return queueStates.write(action.state);
      case 'admit':
        await scanClient.patchStatus(action.scan, admittedStatus(action.scan, now), signal);
        recorder.event(action.scan, 'Normal', 'Admitted', 'The queue admitted the scan.');
        return;
      case 'explainWait': {
        const { scan, ...why } = action.waiting;
        await scanClient.patchStatus(scan, waitingStatus(scan, why, now), signal);
        return;
      }
      case 'writeStatus':
        await queues.patchStatus(action.queue, action.status, signal);
        return;
      case 'measure':
        metrics.queue(action.load);
    }
  };
}

/** Runs a write. @returns false if the object has changed, is gone or exists already; the next plan handles the new state */
async function skipConflict(write: () => Promise<void>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if (error instanceof KubernetesError && (error.code === 409 || error.code === 404)) return false;
    throw error;
  }
}
