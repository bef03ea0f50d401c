/**
 * What the real Job controller adds to the pods and the status of an Indexed Job of one completion. The annotations of the pods
 * count the retries, so they identify an attempt.
 */
import type { Job, Pod, PodSpec } from '../types.ts';

const COMPLETION_INDEX = 'batch.kubernetes.io/job-completion-index';
const FAILURE_COUNT = 'batch.kubernetes.io/job-index-failure-count';
const IGNORED_FAILURE_COUNT = 'batch.kubernetes.io/job-index-ignored-failure-count';
/** The only index. */
const INDEX = '0';

/** How many pods of the index failed before this one. */
export interface FailureCounts {
  failed: number;
  /** Failed, and ignored by the Job's pod failure policy. */
  ignored: number;
}

export function failureCounts({ metadata }: Pod): FailureCounts {
  const count = (name: string): number => Number(metadata.annotations?.[name] ?? 0);
  return { failed: count(FAILURE_COUNT), ignored: count(IGNORED_FAILURE_COUNT) };
}

/** When a pod ended, in ms since the epoch: as the kubelet reports it, else when it was deleted or created. */
export function finishedAt({ metadata, status }: Pod): number {
  const times = status.containerStatuses?.flatMap(({ state }) => Date.parse(state.terminated?.finishedAt ?? '')) ?? [];
  const known = times.filter((time) => !Number.isNaN(time));
  return known.length > 0 ? Math.max(...known) : Date.parse(metadata.deletionTimestamp ?? metadata.creationTimestamp);
}

/** The pod that the next one replaces: the failed pod with the most failures before it. */
export function newestFailed(failed: readonly Pod[]): Pod | undefined {
  const rank = (pod: Pod): number => failureCounts(pod).failed + failureCounts(pod).ignored;
  return failed.toSorted((a, b) => rank(a) - rank(b) || finishedAt(a) - finishedAt(b)).at(-1);
}

/** The counts of the pod that replaces `failed`. */
export function countsAfter(failed: Pod | undefined, isIgnored: (pod: Pod) => boolean): FailureCounts {
  if (failed === undefined) return { failed: 0, ignored: 0 };
  const before = failureCounts(failed);
  return isIgnored(failed) ? { ...before, ignored: before.ignored + 1 } : { ...before, failed: before.failed + 1 };
}

/** The template of an Indexed Job's pod with the fields that the controller adds. */
export function indexedPod(
  job: Job,
  counts: FailureCounts,
): { generateName: string; labels: Record<string, string>; annotations: Record<string, string>; spec: PodSpec } {
  const { metadata, spec } = job.spec.template;
  const env = {
    name: 'JOB_COMPLETION_INDEX',
    valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: `metadata.labels['${COMPLETION_INDEX}']` } },
  };
  return {
    generateName: `${job.metadata.name}-${INDEX}-`,
    labels: { ...metadata?.labels, [COMPLETION_INDEX]: INDEX },
    annotations: {
      ...metadata?.annotations,
      [COMPLETION_INDEX]: INDEX,
      [FAILURE_COUNT]: String(counts.failed),
      ...(counts.ignored > 0 && { [IGNORED_FAILURE_COUNT]: String(counts.ignored) }),
    },
    spec: {
      ...spec,
      hostname: `${job.metadata.name}-${INDEX}`,
      containers: spec.containers.map((container) =>
        container.env?.some(({ name }) => name === env.name) ? container : { ...container, env: [...(container.env ?? []), env] },
      ),
    },
  };
}

/** The part of a status that lists indexes. */
export function indexStatus(job: Job, succeeded: boolean, failed: boolean): { completedIndexes?: string; failedIndexes?: string } {
  return {
    ...((succeeded || job.status.completedIndexes !== undefined) && { completedIndexes: INDEX }),
    failedIndexes: failed ? INDEX : (job.status.failedIndexes ?? ''),
  };
}
