/** The scheduler and the kubelet in one: places pods on the one node, runs them as local processes, stops them. */
import type { Logger } from '../../../platform/logger.ts';
import { openRecorder, type Recorder } from '../controllers/recorder.ts';
import { openWorkQueue } from '../controllers/work-queue.ts';
import type { Registry } from '../registry/registry.ts';
import type { Catalogue } from '../resources/builtins.ts';
import { StatusError } from '../status.ts';
import type { Store } from '../store.ts';
import type { Pod, PodSpec } from '../types.ts';
import { errorMessage } from '../../../platform/errors.ts';
import { lostStatus, NODE_LABELS, NODE_NAME, nodeStatus, withConditions } from './pod-status.ts';
import { openPodFiles, type PodFiles, type ReadSecret, secretReader } from './pod-files.ts';
import { type Images, type PodRun, runPod } from './pod-run.ts';
import { hasEnded, openPods, type Pods, PODS } from './pods.ts';

/**
 * The scheduler: binds pods to the one node, or reports why they do not fit it. The message of the `Unschedulable` condition; null if the
 * pod fits.
 */
export function unschedulable(spec: PodSpec): string | null {
  const selected = Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => NODE_LABELS[key] === value);
  // Rules of affinity are not evaluated: a pod with a required one stays pending.
  const hasRule = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution !== undefined;
  if (selected && !hasRule) return null;
  const why = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.";
  return `${why} no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.`;
}

const usesDefaultScheduler = ({ spec }: Pod): boolean => spec.schedulerName === 'default-scheduler';

interface Scheduler {
  /** Binds a pod that no other scheduler claims. */
  schedule(pod: Pod): void;
}

function openScheduler(pods: Pods, recorder: Recorder, now: () => Date): Scheduler {
  function reportUnschedulable(pod: Pod, message: string): void {
    const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message };
    pods.updateStatus(pod, (latest) => ({ ...latest.status, conditions: withConditions(latest, [condition], now()) }));
    if (pod.status.conditions?.some(({ type }) => type === 'PodScheduled') !== true)
      recorder.record(pod, 'Warning', 'FailedScheduling', message);
  }

  return {
    schedule(pod) {
      if (!usesDefaultScheduler(pod)) return;
      const message = unschedulable(pod.spec);
      if (message !== null) return reportUnschedulable(pod, message);
      pods.bind(pod, NODE_NAME);
      const { namespace, name } = pod.metadata;
      recorder.record(pod, 'Normal', 'Scheduled', `Successfully assigned ${namespace}/${name} to ${NODE_NAME}`);
    },
  };
}

/**
 * The pods that this kubelet runs: starts each one, and reports its status and events. On close, the time that every pod gets to end by
 * itself.
 */
const CLOSE_GRACE_MS = 3000;

interface PodRunsDeps {
  pods: Pods;
  files: PodFiles;
  images: Images;
  read: ReadSecret;
  recorder: Recorder;
  now: () => Date;
  logger: Logger;
  /** Called after a pod's container has ended. */
  ended(pod: Pod): void;
}

interface PodRuns {
  get(uid: string): PodRun | undefined;
  start(pod: Pod): void;
  /** Stops all pods. From then on their statuses and events are no longer written. */
  close(): Promise<void>;
}

function openPodRuns({ pods, files, images, read, recorder, now, logger, ended }: PodRunsDeps): PodRuns {
  const runs = new Map<string, PodRun>();
  let isClosing = false;

  function failed(pod: Pod, error: unknown): void {
    logger.error({ err: error, pod: pod.metadata.name }, 'pod run failed');
    if (isClosing) return;
    const message = errorMessage(error);
    pods.updateStatus(pod, (latest) =>
      hasEnded(latest) ? latest.status : { ...latest.status, phase: 'Failed', reason: 'Error', message },
    );
  }

  const begin = (pod: Pod): PodRun =>
    runPod(pod, {
      images,
      read,
      now,
      folder: files.podFolder(pod),
      logPath: files.logPath(pod),
      report(state) {
        if (!isClosing) pods.updateStatus(pod, (latest) => nodeStatus(latest, state, now()));
      },
      event(...event) {
        if (!isClosing) recorder.record(pod, ...event);
      },
    });

  return {
    get: (uid) => runs.get(uid),
    start(pod) {
      const { uid } = pod.metadata;
      const run = begin(pod);
      runs.set(uid, run);
      run.ended
        .catch((error: unknown) => failed(pod, error))
        .finally(() => {
          runs.delete(uid);
          ended(pod);
        });
    },
    async close() {
      isClosing = true;
      const left = [...runs.values()];
      for (const run of left) run.stop(CLOSE_GRACE_MS);
      await Promise.allSettled(left.map((run) => run.ended));
    },
  };
}

export interface KubeletDeps {
  store: Store;
  objects: Registry;
  catalogue: Catalogue;
  images: Images;
  now: () => Date;
  /** Holds the folders `pods` and `logs`. */
  folder: string;
  logger: Logger;
}

export interface Kubelet {
  logPath: PodFiles['logPath'];
  /** Stops all pods. */
  close(): Promise<void>;
}

export function startKubelet({ store, objects, catalogue, images, now, folder, logger }: KubeletDeps): Kubelet {
  const files = openPodFiles(folder, now());
  const pods = openPods(store, objects, catalogue);
  const scheduler = openScheduler(pods, openRecorder(objects, catalogue, now, 'default-scheduler'), now);
  const recorder = openRecorder(objects, catalogue, now, 'kubelet', NODE_NAME);
  const runs = openPodRuns({ pods, files, images, read: secretReader(store), recorder, now, logger, ended: enqueue });

  function sync(pod: Pod): void {
    const { metadata, spec } = pod;
    const run = runs.get(metadata.uid);
    if (metadata.deletionTimestamp !== undefined) {
      if (run !== undefined) run.stop((metadata.deletionGracePeriodSeconds ?? 0) * 1000);
      else if (spec.nodeName === NODE_NAME || (spec.nodeName === undefined && usesDefaultScheduler(pod))) pods.confirmDeletion(pod);
      return;
    }
    if (hasEnded(pod) || run !== undefined) return;
    if (spec.nodeName === undefined) scheduler.schedule(pod);
    else if (spec.nodeName === NODE_NAME) runs.start(pod);
  }

  const queue = openWorkQueue(
    (namespace, name) => {
      const pod = pods.get(namespace, name);
      if (pod !== undefined) sync(pod);
    },
    (error, key) => {
      if (!(error instanceof StatusError)) logger.error({ err: error, pod: key }, 'pod sync failed');
    },
  );
  function enqueue({ metadata }: Pod): void {
    queue.add(metadata.namespace ?? '', metadata.name);
  }

  const unsubscribe = store.subscribe((change) => {
    if (change.storage !== PODS) return;
    const pod = change.object as Pod;
    if (change.type === 'DELETED') runs.get(pod.metadata.uid)?.stop(0);
    else enqueue(pod);
  });
  for (const pod of pods.list()) {
    if (wasRunning(pod)) pods.updateStatus(pod, (latest) => lostStatus(latest, now()));
    enqueue(pod);
  }

  return {
    logPath: files.logPath,
    async close() {
      unsubscribe();
      queue.close();
      await runs.close();
    },
  };
}

/** Whether an earlier run of the kubelet started the pod: its processes no longer exist. */
function wasRunning({ spec, status }: Pod): boolean {
  const begun = status.containerStatuses?.some(({ state }) => state.running !== undefined || state.terminated !== undefined) === true;
  return spec.nodeName === NODE_NAME && begun && status.phase === 'Running';
}
