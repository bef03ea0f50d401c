/** The ScanQueue controller: admits scans, updates the status of waiting ones, and mirrors the queue state for the API. */
import { DEFAULT_QUEUE, type AccessibilityScan, type ScanQueue } from '../../core/protocol/custom-resources.ts';
import type { Logger } from '../../platform/logger.ts';
import { KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import type { QueueStates } from '../../stores/submissions/queue-state.ts';
import type { OperatorMetrics } from '../metrics.ts';
import type { Clock } from '../runtime/clock.ts';
import { keyOf, toKey } from '../runtime/key.ts';
import { watch, type ControllerDefinition, type Manager } from '../runtime/manager.ts';
import type { ResourceClient } from '../runtime/resource-client.ts';
import { QUEUES } from '../scan/kube-types.ts';
import { admittedStatus, waitingStatus } from '../scan/policy/status.ts';
import type { ScanClient } from '../scan/scan-client.ts';
import type { AdmissionGate } from './gate.ts';
import { planQueue, type QueueAction, type QueueFacts } from './plan.ts';

export interface QueueControllerDeps {
  manager: Pick<Manager, 'watchResource' | 'lanes'>;
  scanClient: ScanClient;
  queueStates: Pick<QueueStates, 'read' | 'write'>;
  gate: AdmissionGate;
  metrics: Pick<OperatorMetrics, 'queue'>;
  namespace: string;
  defaultMaxRunning: number;
  logger: Logger;
  clock: Clock;
}

/** The API rejects a queue state that is older than a few of these intervals. */
const EVERY_MS = 10_000;
const CONFLICT_RETRY_MS = 200;
/** The time for which a scan whose admission the API server refused is left out, so that it does not take the place of another. */
const REFUSED_FOR_MS = 30_000;

export function createQueueController(deps: QueueControllerDeps): ControllerDefinition<QueueFacts, QueueAction> {
  const { manager, scanClient, gate, namespace, logger, clock } = deps;
  const queues = manager.watchResource<ScanQueue>({ resource: QUEUES, namespaces: [namespace] });
  const act = createQueueActions(deps, queues);
  let mirrored: QueueFacts['mirrored'] = null;
  let statusAt: Date | null = null;
  /** The time until which a scan is left out, by uid. */
  const refused = new Map<string, number>();
  const isLeftOut = ({ metadata }: AccessibilityScan) => (refused.get(metadata.uid!) ?? 0) > clock.monotonic();
  // There is only one queue. A single key also prevents two workers from admitting at the same time.
  const key = toKey(namespace, DEFAULT_QUEUE);

  return {
    name: 'queue',
    workers: 1,
    maxBackOffMs: 5_000,
    sources: [
      (enqueue) => {
        // A queue that does not exist yet emits no event.
        enqueue(key);
        return () => undefined;
      },
      watch(scanClient, ({ type, object }) => {
        if (type === 'deleted') refused.delete(object.metadata.uid!);
        return [key];
      }),
      watch(queues, () => [key]),
      (enqueue) => manager.lanes.onChange(() => enqueue(key)),
    ],
    acrossNamespaces: true,
    async gather() {
      const queue = queues.get(namespace, DEFAULT_QUEUE) ?? null;
      const pausedBefore = queue === null && (await deps.queueStates.read()).paused;
      return {
        // In the same tick as the list: a scan with a place is in one of the two.
        taken: gate.close(),
        scans: scanClient.list().filter((scan) => !isLeftOut(scan)),
        unreadable: manager.lanes.unreadable(),
        queue,
        pausedBefore,
        namespace,
        defaultMaxRunning: deps.defaultMaxRunning,
        mirrored,
        statusAt,
        everyMs: EVERY_MS,
        now: new Date(clock.now()),
      };
    },
    plan: planQueue,
    async execute({ actions, wakeAfterMs }, facts, signal) {
      let conflict = false;
      for (const action of actions) {
        signal.throwIfAborted();
        const written = await skipConflict(
          () => act(action, facts, signal),
          (error) => {
            const scan = action.do === 'admit' || action.do === 'explainWait' ? action.scan : null;
            if (scan === null) throw error;
            refused.set(scan.metadata.uid!, clock.monotonic() + REFUSED_FOR_MS);
            logger.warn({ key: keyOf(scan), err: error }, 'cannot write to a waiting scan, leaving it out for a while');
          },
        );
        if (action.do === 'mirror') mirrored = { state: action.state, at: facts.now };
        if (action.do === 'writeStatus') statusAt = facts.now;
        // The next plan updates the status of the waiting scan.
        if (!written && action.do !== 'explainWait') conflict = true;
      }
      return { requeueAfterMs: conflict ? CONFLICT_RETRY_MS : (wakeAfterMs ?? EVERY_MS) };
    },
  };
}

function createQueueActions({ scanClient, queueStates, gate, metrics }: QueueControllerDeps, queues: ResourceClient<ScanQueue>) {
  return async (action: QueueAction, { now }: QueueFacts, signal: AbortSignal): Promise<void> => {
    switch (action.do) {
      case 'open':
        return gate.open(action.places);
      case 'create':
        await queues.create(action.queue, signal);
        return;
      case 'mirror':
        return queueStates.write(action.state);
      case 'admit':
        await scanClient.patchStatus(action.scan, admittedStatus(action.scan, now), signal);
        return;
      case 'explainWait':
        await scanClient.patchStatus(action.scan, waitingStatus(action.scan, action.paused, now), signal);
        return;
      case 'writeStatus':
        await queues.patchStatus(action.queue, action.status, signal);
        return;
      case 'measure':
        metrics.queue(action.load);
    }
  };
}

/**
 * Runs a write.
 * @param onRefusal called if the API server refuses the write for another reason than a conflict
 * @returns false if the object has changed, is gone or exists already, or was refused; the next plan handles the new state
 */
async function skipConflict(write: () => Promise<void>, onRefusal: (error: KubernetesError) => void): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if (!(error instanceof KubernetesError) || error.code === 429 || error.code >= 500) throw error;
    if (error.code !== 409 && error.code !== 404) onRefusal(error);
    return false;
  }
}
