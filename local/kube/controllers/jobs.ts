/** The Job controller: watches Jobs and their pods, and applies the plan that `planJob` makes. */
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../../../platform/logger.ts';
import type { Catalogue } from '../resources/builtins.ts';
import { indexedPod, type FailureCounts } from './indexed-jobs.ts';
import { hasFinalizer, planJob, TRACKING_FINALIZER, type JobPlan } from './job-plan.ts';
import type { Registry } from '../registry/registry.ts';
import { openRecorder } from './recorder.ts';
import { openWorkQueue } from './work-queue.ts';
import { StatusError } from '../status.ts';
import type { Store } from '../store.ts';
import type { Job, Json, KubeObject, Pod } from '../types.ts';

const JOBS = 'batch/jobs';
const PODS = '/pods';

/** The longest delay that a Node timer supports. After it the Job is synced, which sets the next timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const ownerOf = (pod: KubeObject): { kind: string; name: string; uid: string } | undefined =>
  pod.metadata.ownerReferences?.find((owner) => owner.controller === true);

export interface JobControllerDeps {
  store: Store;
  objects: Registry;
  catalogue: Catalogue;
  now: () => Date;
  /** The delay before the first failed pod of a Job is replaced; doubled each time. */
  backoffBaseMs: number;
  logger: Logger;
}

/** Starts the controller. @returns how to stop it */
export function startJobController(deps: JobControllerDeps): () => void {
  const { store, now, backoffBaseMs, logger } = deps;
  const pods = openJobPods(deps);
  const timers = new Map<string, NodeJS.Timeout>();
  const queue = openWorkQueue(sync, (error, key) => {
    if (error instanceof StatusError && [403, 404, 409].includes(error.code)) return;
    logger.error({ err: error, job: key }, 'job sync failed');
  });
  const apply = openPlans(deps, pods);

  function sync(namespace: string, name: string): void {
    const key = `${namespace}/${name}`;
    clearTimeout(timers.get(key));
    timers.delete(key);
    const job = store.get(JOBS, namespace, name) as Job | undefined;
    if (job === undefined) return;
    const plan = planJob(job, pods.of(job), now(), backoffBaseMs);
    apply(job, plan);
    if (plan.wakeAt === undefined) return;
    const delay = Math.min(Math.max(plan.wakeAt - now().getTime(), 0) + 1, MAX_TIMER_MS);
    timers.set(
      key,
      setTimeout(() => queue.add(namespace, name), delay),
    );
  }

  const unsubscribe = store.subscribe((change) => {
    const { namespace = '', name, uid } = change.object.metadata;
    if (change.storage === JOBS) {
      queue.add(namespace, name);
      if (change.type !== 'DELETED') return;
      setImmediate(() => pods.releaseAll(namespace, uid));
    } else if (change.storage === PODS) {
      const owner = ownerOf(change.object);
      if (owner?.kind === 'Job') queue.add(namespace, owner.name);
    }
  });

  for (const job of store.list(JOBS)) queue.add(job.metadata.namespace ?? '', job.metadata.name);
  return () => {
    unsubscribe();
    queue.close();
    for (const timer of timers.values()) clearTimeout(timer);
  };
}

interface JobPods {
  /** The pods that a Job controls, oldest change first. */
  of(job: Job): Pod[];
  /** Removes the finalizer that keeps a pod until it is counted. */
  release(pod: Pod): void;
  /** Releases the pods of a deleted Job. */
  releaseAll(namespace: string, uid: string): void;
}

function openJobPods({ store, objects, catalogue }: JobControllerDeps): JobPods {
  const resource = catalogue.named('', 'pods');

  function release({ metadata: { namespace = '', name } }: Pod): void {
    objects.update(resource, namespace, name, (old) => {
      const finalizers = old.metadata.finalizers?.filter((finalizer) => finalizer !== TRACKING_FINALIZER);
      return { ...old, metadata: { ...old.metadata, finalizers } } as unknown as Json;
    });
  }

  return {
    of: (job) =>
      store
        .list(PODS, job.metadata.namespace)
        .filter((pod) => ownerOf(pod)?.uid === job.metadata.uid)
        .sort((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion)) as Pod[],
    release,
    releaseAll(namespace, uid) {
      const left = store.list(PODS, namespace) as Pod[];
      for (const pod of left.filter(hasFinalizer)) if (ownerOf(pod)?.uid === uid) release(pod);
    },
  };
}

/** @returns a function that writes a Job's status and creates, releases and deletes pods as planned */
function openPlans({ store, objects, catalogue, now }: JobControllerDeps, pods: JobPods): (job: Job, plan: JobPlan) => void {
  const jobResource = catalogue.named('batch', 'jobs');
  const podResource = catalogue.named('', 'pods');
  const recorder = openRecorder(objects, catalogue, now, 'job-controller');
  return (job, plan) => {
    const { namespace = '', name } = job.metadata;
    if (!isDeepStrictEqual(plan.status, job.status))
      objects.update(jobResource, namespace, name, (old) => ({ ...old, status: plan.status }) as unknown as Json, 'status');
    for (const pod of plan.release) pods.release(pod);
    for (const pod of plan.end) {
      if (store.get(PODS, namespace, pod.metadata.name) !== undefined)
        objects.remove(podResource, namespace, pod.metadata.name, { propagationPolicy: 'Background' });
    }
    if (plan.create !== null) {
      const pod = objects.create(podResource, namespace, podOf(job, plan.create));
      recorder.record(job, 'Normal', 'SuccessfulCreate', `Created pod: ${pod.metadata.name}`);
    }
    for (const event of plan.events) recorder.record(job, event.type, event.reason, event.message);
  };
}

/** The manifest of a Job's next pod. @param counts the earlier failures */
function podOf(job: Job, counts: FailureCounts): Json {
  const { name, uid } = job.metadata;
  const { generateName, labels, annotations, spec } = indexedPod(job, counts);
  return structuredClone({
    metadata: {
      generateName,
      labels,
      annotations,
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name, uid, controller: true, blockOwnerDeletion: true }],
      finalizers: [TRACKING_FINALIZER],
    },
    spec,
  }) as unknown as Json;
}
