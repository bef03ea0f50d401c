/** Keeps the queue: one loop that lets scans in, tells those that wait, and tells the front door how full it is. */
import { API_VERSION, DEFAULT_QUEUE, type AccessibilityScan, type ScanQueue } from '../../core/protocol/custom-resources.ts';
import { KubernetesError, type KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import type { QueueStates } from '../../stores/submissions/queue-state.ts';
import type { Recorder } from '../runtime/recorder.ts';
import { conditionOf } from '../runtime/conditions.ts';
import { QUEUES } from '../scan/kube-types.ts';
import type { ScanClient } from '../scan/scan-client.ts';
import { admittedStatus, waitingStatus } from '../scan/policy/status.ts';
import { lookAtQueue, type QueueLook } from './admission.ts';

export interface QueueDeps {
  connection: KubernetesConnection;
  namespace: string;
  queues: { get(namespace: string, name: string): ScanQueue | undefined };
  scanClient: ScanClient;
  queueStates: Pick<QueueStates, 'write'>;
  recorder: Recorder;
  defaultMaxRunning: number;
  /** How often the queue is looked at although nothing happens, in milliseconds: the mirror of its state must not grow old. */
  everyMs: number;
  now: () => Date;
  /** Is told what each look came to. */
  onLook: (look: Pick<QueueLook, 'queued' | 'running' | 'live' | 'paused' | 'oldestWaitSeconds'>) => void;
}

/** How many of those that wait are told of their place in one look: letting in must not wait for that. */
const TOLD_MAX = 50;

/** What the controller calls; its one key stands for the queue, so that never two loops let scans in. */
export function createQueueReconciler(parts: QueueDeps): (key: string, signal: AbortSignal) => Promise<{ requeueAfterMs: number }> {
  const { connection, namespace, scanClient, recorder } = parts;
  let mirrored = '';
  let mirroredAt = 0;

  /** Where there is no queue yet, so that there is something to pause. */
  async function create(signal: AbortSignal): Promise<void> {
    const body = { apiVersion: API_VERSION, kind: 'ScanQueue', metadata: { name: DEFAULT_QUEUE, namespace }, spec: { paused: false } };
    try {
      await connection.request('POST', connection.path(QUEUES, namespace), { body, signal });
    } catch (error) {
      if (!(error instanceof KubernetesError && error.code === 409)) throw error;
    }
  }

  /** A conflict means that the scan has changed: the next look sees how. */
  async function write(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (error instanceof KubernetesError && (error.code === 409 || error.code === 404)) return false;
      throw error;
    }
  }

  async function admit(scan: AccessibilityScan, signal: AbortSignal): Promise<boolean> {
    const admitted = await write(() => scanClient.patchStatus(scan, admittedStatus(scan, parts.now()), signal));
    if (admitted) recorder.event(scan, 'Normal', 'Admitted', 'The scan has its place among the running.');
    return admitted;
  }

  async function tell(look: QueueLook, signal: AbortSignal): Promise<boolean> {
    const news = look.waiting.filter(({ scan, reason, message }) => {
      const told = conditionOf(scan.status?.conditions, 'Admitted');
      return told?.reason !== reason || told.message !== message;
    });
    for (const { scan, reason, message } of news.slice(0, TOLD_MAX)) {
      signal.throwIfAborted();
      await write(() => scanClient.patchStatus(scan, waitingStatus(scan, { reason, message }, parts.now()), signal));
    }
    return news.length <= TOLD_MAX;
  }

  async function writeStatus(queue: ScanQueue, look: QueueLook, signal: AbortSignal): Promise<void> {
    const { queued, running, oldestWaitSeconds } = look;
    const status = { queued, running, oldestWaitSeconds, observedGeneration: queue.metadata.generation };
    const known = queue.status;
    const same = known?.queued === queued && known.running === running && known.observedGeneration === status.observedGeneration;
    // The wait grows all the time; on its own it is worth a write only as often as the queue is looked at anyway.
    if (same && Math.abs((known?.oldestWaitSeconds ?? 0) - oldestWaitSeconds) * 1000 < parts.everyMs) return;
    const path = connection.path(QUEUES, namespace, queue.metadata.name, 'status');
    await write(() => connection.request('PATCH', path, { contentType: 'application/merge-patch+json', body: { status }, signal }));
  }

  async function mirror({ paused, live }: QueueLook): Promise<void> {
    const state = JSON.stringify({ paused, live });
    const now = parts.now().getTime();
    if (state === mirrored && now - mirroredAt < parts.everyMs) return;
    await parts.queueStates.write({ paused, live });
    [mirrored, mirroredAt] = [state, now];
  }

  return async (_key, signal) => {
    const queue = parts.queues.get(namespace, DEFAULT_QUEUE) ?? null;
    if (queue === null) await create(signal);
    const look = lookAtQueue(scanClient.list(), queue, parts.defaultMaxRunning, parts.now());
    // The front door first: a pause must hold there even if something below fails.
    await mirror(look);
    let again = false;
    for (const scan of look.admit) {
      signal.throwIfAborted();
      if (!(await admit(scan, signal))) again = true;
    }
    if (!(await tell(look, signal))) again = true;
    if (queue !== null) await writeStatus(queue, look, signal);
    parts.onLook(look);
    return { requeueAfterMs: again ? 200 : parts.everyMs };
  };
}
