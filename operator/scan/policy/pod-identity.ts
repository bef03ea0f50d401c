/** Identifies pods by attempt, as their annotations state, and derives their upload slots. Pure. */
import { POD_IDENTITY_ANNOTATIONS, podIdentity, type PodIdentity } from '../../../core/protocol/pod-messages.ts';
import type { Pod } from '../kube-types.ts';

/**
 * The number of evictions and lost nodes that have upload slots, in addition to the retries after crashes. Kubernetes does
 * not limit disruptions. More than three per scan are rare; later attempts share the last slot.
 */
const DISRUPTIONS = 3;

export function identityOf(pod: Pod): PodIdentity {
  const count = (name: keyof typeof POD_IDENTITY_ANNOTATIONS) => Number(pod.metadata.annotations?.[POD_IDENTITY_ANNOTATIONS[name]] ?? 0);
  return podIdentity({
    JOB_COMPLETION_INDEX: count('JOB_COMPLETION_INDEX'),
    JOB_INDEX_FAILURE_COUNT: count('JOB_INDEX_FAILURE_COUNT'),
    JOB_INDEX_IGNORED_FAILURE_COUNT: count('JOB_INDEX_IGNORED_FAILURE_COUNT'),
  });
}

/** Sorts pods by attempt, first attempt first. */
export function byAttempt(pods: readonly Pod[]): Pod[] {
  const age = ({ metadata }: Pod) => metadata.creationTimestamp ?? '';
  return pods.toSorted((a, b) => identityOf(a).attempt - identityOf(b).attempt || age(a).localeCompare(age(b)));
}

/**
 * Returns whether a pod of this attempt exists or existed. Attempts have no gaps, so a pod of a later attempt proves the
 * earlier ones, whose pods may be deleted. An attempt without a pod cannot have sent or stored anything.
 */
export function hadPod(pods: readonly Pod[], attempt: number): boolean {
  return pods.some((pod) => identityOf(pod).attempt >= attempt);
}

/** The largest setting for the number of retries after crashes. */
export const RETRIES_MAX = 10;

/** The identities that get upload links at launch, ordered by attempt. @param retries after crashes */
export function uploadSlots(retries: number): PodIdentity[] {
  return Array.from({ length: retries + DISRUPTIONS + 1 }, (_, attempt) => ({ attempt, shard: 0 }));
}
