/** The pods that this kubelet runs: starts each one, and reports its status and events. */
import { errorMessage } from '../../../platform/errors.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { Recorder } from '../controllers/recorder.ts';
import type { Pod } from '../workload-types.ts';
import type { PodFiles } from './pod-files.ts';
import { runPod, type Images, type PodRun } from './pod-run.ts';
import { nodeStatus } from './pod-status.ts';
import { hasEnded, type Pods } from './pods.ts';
import type { ReadSecret } from './volumes.ts';

/** On close, the time that every pod gets to end by itself. */
const CLOSE_GRACE_MS = 3000;

export interface PodRunsDeps {
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

export interface PodRuns {
  get(uid: string): PodRun | undefined;
  start(pod: Pod): void;
  /** Stops all pods. From then on their statuses and events are no longer written. */
  close(): Promise<void>;
}

export function openPodRuns({ pods, files, images, read, recorder, now, logger, ended }: PodRunsDeps): PodRuns {
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
