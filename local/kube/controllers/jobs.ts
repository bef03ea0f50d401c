/** The Job controller: watches Jobs and their pods, and carries out what `planJob` decides. */
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../../../platform/logger.ts';
import type { Catalogue } from '../resources/catalogue.ts';
import { indexedPod, type FailureCounts } from './indexed-jobs.ts';
import { hasFinalizer, isFinished, planJob, TRACKING_FINALIZER, type Failures } from './job-plan.ts';
import type { Registry } from '../registry/registry.ts';
import { openRecorder } from './recorder.ts';
import { StatusError } from '../status.ts';
import type { Store } from '../storage/store.ts';
import type { Json, KubeObject } from '../types.ts';
import type { Job, Pod } from '../workload-types.ts';

const JOBS = 'batch/jobs';
const PODS = '/pods';

/** Timers beyond this wrap around; a later look sets the next one. */
const LONGEST_WAIT_MS = 2 ** 31 - 1;

const ownerOf = (pod: KubeObject): { kind: string; name: string; uid: string } | undefined =>
  pod.metadata.ownerReferences?.find((owner) => owner.controller === true);

/** Starts it. @returns how to stop it */
export function startJobController(parts: {
  store: Store;
  objects: Registry;
  catalogue: Catalogue;
  now: () => Date;
  /** The wait after a first failure. */
  backoffBaseMs: number;
  logger: Logger;
}): () => void {
  const { store, objects, catalogue, now, backoffBaseMs, logger } = parts;
  const jobs = catalogue.named('batch', 'jobs');
  const podsResource = catalogue.named('', 'pods');
  const recorder = openRecorder(objects, catalogue, now, 'job-controller');
  const failures = new Map<string, Failures>();
  const timers = new Map<string, NodeJS.Timeout>();
  const dirty = new Set<string>();
  let scheduled: NodeJS.Immediate | undefined;

  function touch(namespace: string, name: string): void {
    dirty.add(`${namespace}/${name}`);
    scheduled ??= setImmediate(settleAll);
  }

  function settleAll(): void {
    scheduled = undefined;
    for (const key of [...dirty]) {
      dirty.delete(key);
      const [namespace = '', name = ''] = key.split('/');
      try {
        settle(namespace, name);
      } catch (error) {
        if (error instanceof StatusError && (error.code === 404 || error.code === 409 || error.code === 403)) continue;
        logger.error({ err: error, job: key }, 'the Job controller failed');
      }
    }
  }

  const podsOf = (job: Job): Pod[] =>
    store
      .list(PODS, job.metadata.namespace)
      .filter((pod) => ownerOf(pod)?.uid === job.metadata.uid)
      .sort((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion)) as Pod[];

  function release(pod: Pod): void {
    objects.update(podsResource, pod.metadata.namespace ?? '', pod.metadata.name, (old) => {
      const finalizers = old.metadata.finalizers?.filter((name) => name !== TRACKING_FINALIZER);
      return { ...old, metadata: { ...old.metadata, finalizers } } as unknown as Json;
    });
  }

  /** Back-off goes by failures in a row; a success ends the row. */
  function noteEnds(job: Job, released: readonly Pod[]): void {
    for (const pod of released) {
      if (pod.status.phase === 'Succeeded') failures.delete(job.metadata.uid);
      else if (job.spec.suspend !== true) {
        const before = failures.get(job.metadata.uid)?.inARow ?? 0;
        failures.set(job.metadata.uid, { inARow: before + 1, lastAt: now().getTime() });
      }
    }
  }

  function settle(namespace: string, name: string): void {
    const key = `${namespace}/${name}`;
    clearTimeout(timers.get(key));
    timers.delete(key);
    const job = store.get(JOBS, namespace, name) as Job | undefined;
    if (job === undefined) return;
    const none = { inARow: 0, lastAt: 0 };
    const pods = podsOf(job);
    const first = planJob(job, pods, failures.get(job.metadata.uid) ?? none, now(), backoffBaseMs);
    if (!isFinished(job)) noteEnds(job, first.release);
    // What failed just now holds its own replacement back.
    const plan = planJob(job, pods, failures.get(job.metadata.uid) ?? none, now(), backoffBaseMs);
    if (!isDeepStrictEqual(plan.status, job.status)) {
      objects.update(jobs, namespace, name, (old) => ({ ...old, status: plan.status }) as unknown as Json, 'status');
    }
    for (const pod of plan.release) release(pod);
    for (const pod of plan.end) {
      if (store.get(PODS, namespace, pod.metadata.name) !== undefined)
        objects.remove(podsResource, namespace, pod.metadata.name, { propagationPolicy: 'Background' });
    }
    for (let index = 0; index < plan.create; index += 1) {
      const pod = objects.create(podsResource, namespace, podOf(job, plan.counts));
      recorder.record(job, 'Normal', 'SuccessfulCreate', `Created pod: ${pod.metadata.name}`);
    }
    for (const event of plan.events) recorder.record(job, event.type, event.reason, event.message);
    if (plan.expired === true)
      objects.remove(jobs, namespace, name, { propagationPolicy: 'Foreground', preconditions: { uid: job.metadata.uid } });
    else if (plan.wakeAt !== undefined) {
      const wait = Math.min(Math.max(plan.wakeAt - now().getTime(), 0) + 1, LONGEST_WAIT_MS);
      timers.set(
        key,
        setTimeout(() => touch(namespace, name), wait),
      );
    }
  }

  /** A pod whose Job is gone has nobody left to count it. */
  function releaseOrphan(namespace: string, name: string): void {
    const pod = store.get(PODS, namespace, name) as Pod | undefined;
    if (pod === undefined || !hasFinalizer(pod)) return;
    const owner = ownerOf(pod);
    const job = owner === undefined ? undefined : store.get(JOBS, namespace, owner.name);
    if (job === undefined || job.metadata.uid !== owner?.uid) release(pod);
  }

  const unsubscribe = store.subscribe((change) => {
    const { namespace = '', name, uid } = change.object.metadata;
    if (change.storage === JOBS) {
      touch(namespace, name);
      if (change.type !== 'DELETED') return;
      failures.delete(uid);
      setImmediate(() => {
        for (const pod of store.list(PODS, namespace)) if (ownerOf(pod)?.uid === uid) releaseOrphan(namespace, pod.metadata.name);
      });
    } else if (change.storage === PODS) {
      const owner = ownerOf(change.object);
      if (owner?.kind === 'Job') touch(namespace, owner.name);
      else if (change.type !== 'DELETED' && hasFinalizer(change.object as Pod)) setImmediate(() => releaseOrphan(namespace, name));
    }
  });

  for (const job of store.list(JOBS)) touch(job.metadata.namespace ?? '', job.metadata.name);
  return () => {
    unsubscribe();
    clearImmediate(scheduled);
    for (const timer of timers.values()) clearTimeout(timer);
  };
}

/** A Job's next pod. @param counts of an Indexed Job */
function podOf(job: Job, counts: FailureCounts | undefined): Json {
  const { name, uid } = job.metadata;
  const { metadata, spec: plain } = job.spec.template;
  const template = { generateName: `${name}-`, labels: metadata?.labels, annotations: metadata?.annotations, spec: plain };
  const { generateName, labels, annotations, spec } = counts === undefined ? template : indexedPod(job, counts);
  return structuredClone({
    metadata: {
      generateName,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name, uid, controller: true, blockOwnerDeletion: true }],
      finalizers: [TRACKING_FINALIZER],
    },
    spec,
  }) as unknown as Json;
}
