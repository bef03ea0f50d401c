/** The scheduler and the kubelet in one: places pods on the one node, runs them as local processes, ends them. */
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../../../platform/logger.ts';
import type { Catalogue } from '../resources/catalogue.ts';
import type { Registry } from '../registry/registry.ts';
import type { ReadData } from './volumes.ts';
import type { Images } from './container-run.ts';
import { runPod, type PodRun } from './pod-run.ts';
import { lostStatus, nodeStatus, withConditions } from './pod-status.ts';
import { endLeftover } from './processes.ts';
import { openRecorder } from '../controllers/recorder.ts';
import { NODE_NAME, unschedulable } from './scheduling.ts';
import { StatusError } from '../status.ts';
import type { Store } from '../storage/store.ts';
import type { Json } from '../types.ts';
import type { Pod, PodStatus } from '../workload-types.ts';

const PODS = '/pods';
/** On close every pod gets this long to end by itself. */
const CLOSE_GRACE_MS = 3000;
const LOG_LIFETIME_MS = 7 * 24 * 3600_000;

const hasEnded = ({ status }: Pod): boolean => status.phase === 'Succeeded' || status.phase === 'Failed';

export interface Kubelet {
  logPath(pod: Pod, container: string): string;
  close(): Promise<void>;
}

export function startKubelet(parts: {
  store: Store;
  objects: Registry;
  catalogue: Catalogue;
  images: Images;
  now: () => Date;
  /** Its `pods` and `logs` lie below. */
  folder: string;
  logger: Logger;
}): Kubelet {
  const { store, objects, catalogue, images, now, folder, logger } = parts;
  const pods = catalogue.named('', 'pods');
  const scheduler = openRecorder(objects, catalogue, now, 'default-scheduler');
  const recorder = openRecorder(objects, catalogue, now, 'kubelet', NODE_NAME);
  const runs = new Map<string, PodRun>();
  const dirty = new Set<string>();
  let scheduled: NodeJS.Immediate | undefined;
  let isClosing = false;

  const read: ReadData = (kind, namespace, name) => {
    const object = store.get(kind === 'secret' ? '/secrets' : '/configmaps', namespace, name);
    if (object === undefined) return undefined;
    const plain = kind === 'secret' ? {} : ((object['data'] ?? {}) as Record<string, string>);
    const encoded = ((kind === 'secret' ? object['data'] : object['binaryData']) ?? {}) as Record<string, string>;
    return new Map([
      ...Object.entries(plain).map(([key, value]) => [key, Buffer.from(value)] as const),
      ...Object.entries(encoded).map(([key, value]) => [key, Buffer.from(value, 'base64')] as const),
    ]);
  };

  const logs = join(folder, 'logs');
  const podFolder = (pod: Pod): string => join(folder, 'pods', pod.metadata.uid);
  const logPath = (pod: Pod, container: string): string =>
    join(logs, `${pod.metadata.namespace}_${pod.metadata.name}_${pod.metadata.uid}_${container}.log`);
  const current = ({ metadata }: Pod): Pod | undefined => {
    const found = store.get(PODS, metadata.namespace ?? '', metadata.name) as Pod | undefined;
    return found?.metadata.uid === metadata.uid ? found : undefined;
  };

  function writeStatus(pod: Pod, make: (pod: Pod) => PodStatus): void {
    const latest = current(pod);
    if (latest === undefined || isClosing) return;
    const status = make(latest);
    if (isDeepStrictEqual(status, latest.status)) return;
    objects.update(pods, latest.metadata.namespace ?? '', latest.metadata.name, (old) => ({ ...old, status }) as unknown as Json, 'status');
  }

  function place(pod: Pod): void {
    const { namespace = '', name } = pod.metadata;
    const why = unschedulable(pod.spec);
    if (why !== null) {
      const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: why };
      writeStatus(pod, (latest) => ({ ...latest.status, conditions: withConditions(latest, [condition], now()) }));
      if (pod.status.conditions?.some(({ type }) => type === 'PodScheduled') !== true)
        scheduler.record(pod, 'Warning', 'FailedScheduling', why);
      return;
    }
    objects.update(
      pods,
      namespace,
      name,
      (old) => ({ ...old, spec: { ...(old['spec'] as object), nodeName: NODE_NAME } }) as unknown as Json,
    );
    scheduler.record(pod, 'Normal', 'Scheduled', `Successfully assigned ${namespace}/${name} to ${NODE_NAME}`);
  }

  function begin(pod: Pod): void {
    const run = runPod(pod, {
      images,
      read,
      now,
      folder: podFolder(pod),
      logPath: (container) => logPath(pod, container),
      report: (containers) => writeStatus(pod, (latest) => nodeStatus(latest, containers, now())),
      event: (type, reason, message, container) =>
        isClosing
          ? undefined
          : recorder.record(pod, type, reason, message, container === undefined ? undefined : `spec.containers{${container}}`),
    });
    runs.set(pod.metadata.uid, run);
    run.ended
      .catch((error: unknown) => {
        logger.error({ err: error, pod: pod.metadata.name }, 'a pod could not be run');
        const message = error instanceof Error ? error.message : String(error);
        writeStatus(pod, (latest) => (hasEnded(latest) ? latest.status : { ...latest.status, phase: 'Failed', reason: 'Error', message }));
      })
      .finally(() => {
        runs.delete(pod.metadata.uid);
        touch(pod);
      });
  }

  /** Forgets a pod whose containers have all ended; what still holds it are its finalizers. */
  function finish(pod: Pod): void {
    if (pod.status.phase !== 'Succeeded' && pod.status.phase !== 'Failed')
      writeStatus(pod, (latest) => ({ ...latest.status, phase: 'Failed' }));
    const latest = current(pod);
    if (latest === undefined || (latest.metadata.deletionGracePeriodSeconds ?? 0) === 0) return;
    objects.remove(pods, latest.metadata.namespace ?? '', latest.metadata.name, { gracePeriodSeconds: 0, propagationPolicy: 'Background' });
  }

  function settle(pod: Pod): void {
    const { metadata, spec } = pod;
    const run = runs.get(metadata.uid);
    if (metadata.deletionTimestamp !== undefined) {
      if (run !== undefined) run.stop((metadata.deletionGracePeriodSeconds ?? 0) * 1000);
      else if (spec.nodeName === NODE_NAME || (spec.nodeName === undefined && spec.schedulerName === 'default-scheduler')) finish(pod);
      return;
    }
    if (hasEnded(pod) || run !== undefined) return;
    if (spec.nodeName === undefined) {
      if (spec.schedulerName === 'default-scheduler' && (spec.schedulingGates?.length ?? 0) === 0) place(pod);
    } else if (spec.nodeName === NODE_NAME) begin(pod);
  }

  function touch({ metadata }: Pod): void {
    if (isClosing) return;
    dirty.add(`${metadata.namespace}/${metadata.name}`);
    scheduled ??= setImmediate(() => {
      scheduled = undefined;
      for (const key of [...dirty]) {
        dirty.delete(key);
        const [namespace = '', name = ''] = key.split('/');
        const pod = store.get(PODS, namespace, name) as Pod | undefined;
        try {
          if (pod !== undefined) settle(pod);
        } catch (error) {
          if (!(error instanceof StatusError)) logger.error({ err: error, pod: key }, 'the kubelet failed');
        }
      }
    });
  }

  /** What an earlier run left: its processes are ended, its pods have lost their node. */
  function cleanUp(): void {
    const old = join(folder, 'pods');
    for (const uid of existsSync(old) ? readdirSync(old) : []) {
      for (const file of readdirSync(join(old, uid))) if (file.endsWith('.pid')) endLeftover(join(old, uid, file));
      rmSync(join(old, uid), { recursive: true, force: true });
    }
    for (const pod of store.list(PODS) as Pod[]) {
      const begun =
        pod.status.containerStatuses?.some(({ state }) => state.running !== undefined || state.terminated !== undefined) === true;
      if (pod.spec.nodeName === NODE_NAME && begun && pod.status.phase === 'Running')
        writeStatus(pod, (latest) => lostStatus(latest, now()));
      touch(pod);
    }
  }

  /** Logs outlive their pods, for whoever asks what went wrong; but not for ever. */
  function dropOldLogs(): void {
    const oldest = now().getTime() - LOG_LIFETIME_MS;
    for (const file of readdirSync(logs)) {
      const path = join(logs, file);
      if (statSync(path).mtimeMs < oldest) rmSync(path, { force: true });
    }
  }

  mkdirSync(logs, { recursive: true, mode: 0o700 });
  dropOldLogs();
  const unsubscribe = store.subscribe((change) => {
    if (change.storage !== PODS) return;
    const pod = change.object as Pod;
    if (change.type === 'DELETED') runs.get(pod.metadata.uid)?.stop(0);
    else touch(pod);
  });
  cleanUp();

  return {
    logPath,
    async close() {
      isClosing = true;
      unsubscribe();
      clearImmediate(scheduled);
      const left = [...runs.values()];
      for (const run of left) run.stop(CLOSE_GRACE_MS);
      await Promise.allSettled(left.map((run) => run.ended));
    },
  };
}
