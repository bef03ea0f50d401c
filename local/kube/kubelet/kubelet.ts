/** The scheduler and the kubelet in one: places pods on the one node, runs them as local processes, stops them. */
import type { Logger } from '../../../platform/logger.ts';
import { openRecorder } from '../controllers/recorder.ts';
import { openWorkQueue } from '../controllers/work-queue.ts';
import type { Registry } from '../registry/registry.ts';
import type { Catalogue } from '../resources/catalogue.ts';
import { StatusError } from '../status.ts';
import type { Store } from '../storage/store.ts';
import type { Pod } from '../workload-types.ts';
import { NODE_NAME } from './node.ts';
import { openPodFiles, type PodFiles } from './pod-files.ts';
import type { Images } from './pod-run.ts';
import { openPodRuns } from './pod-runs.ts';
import { lostStatus } from './pod-status.ts';
import { hasEnded, openPods, PODS } from './pods.ts';
import { openScheduler, usesDefaultScheduler } from './scheduling.ts';
import { secretReader } from './volumes.ts';

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
