/** Gathers the facts about a scan from the caches, its pods' messages, and the API server if a cache may lag behind. */
import { jobNameOf, queueOf, scanIdOf, type AccessibilityScan, type QueuePause } from '../../core/protocol/custom-resources.ts';
import { startFailureOf } from './launch/start-failures.ts';
import type { Children } from './launch/children.ts';
import { isPodTerminal, isOwnedBy, type Job, type Pod } from './kube-types.ts';
import type { ReconcileStates, ReconcileState } from './reconcile-state.ts';
import { byAttempt } from './policy/pod-identity.ts';
import type { Facts } from './policy/plan.ts';
import type { PodMessageLog } from './results/pod-message-log.ts';
import { hasEnded } from './policy/status.ts';

export interface GatherDeps {
  jobs: { get(namespace: string, name: string): Job | undefined };
  /** Has the index `owner`, by the uid of the owner. */
  pods: { byIndex(name: string, value: string): Pod[] };
  /** Have the index `object`, by the uid of the Job or pod. */
  failures: Parameters<typeof startFailureOf>[0];
  children: Children;
  states: ReconcileStates;
  podMessages: PodMessageLog;
  /** The start of the current bus connection; null while disconnected. */
  busSince: () => Date | null;
  /** The pauses of a queue; null before the queues are listed. */
  pausesOf: (queue: string) => readonly QueuePause[] | null;
  apiNamespace: string;
  scannerImage: string;
  now: () => Date;
}

export type Gather = (scan: AccessibilityScan, signal: AbortSignal) => Promise<Facts>;

/** The time for which pods that only a search has seen count as running, in milliseconds. */
const SEARCHED_FOR_MS = 15_000;

/** Adds the pods that the API server listed in the last search, if the cache has not seen them or their end. */
function withSearched(cached: readonly Pod[], { search }: ReconcileState, now: Date): Pod[] {
  if (search === null) return [...cached];
  const current = now.getTime() - search.at.getTime() < SEARCHED_FOR_MS;
  const byUid = new Map(cached.map((pod) => [pod.metadata.uid!, pod]));
  for (const pod of search.pods) {
    const known = byUid.get(pod.metadata.uid!);
    if (isPodTerminal(pod) ? known === undefined || !isPodTerminal(known) : known === undefined && current)
      byUid.set(pod.metadata.uid!, pod);
  }
  return [...byUid.values()];
}

export function createGather(deps: GatherDeps): Gather {
  const { jobs, pods, children, states, podMessages } = deps;

  async function jobOf(scan: AccessibilityScan, scanId: string, state: ReconcileState, signal: AbortSignal): Promise<Job | null> {
    const cached = jobs.get(scan.metadata.namespace!, jobNameOf(scanId));
    if (cached !== undefined && isOwnedBy(cached, scan.metadata.uid!)) {
      const { uid, deletionTimestamp } = cached.metadata;
      // It counts as gone, although finalizers keep it.
      return deletionTimestamp !== undefined && (hasEnded(scan) || uid === scan.status?.replacedJob) ? null : cached;
    }
    // The cache does not hold a Job that was created: it is gone, or the cache lags behind. Ask the API server, unless the scan is
    // being deleted: garbage collection deletes its Job.
    const needed = !hasEnded(scan) && scan.metadata.deletionTimestamp === undefined;
    return (scan.status?.jobName !== undefined || state.launched) && needed ? children.readJob(scan, scanId, signal) : null;
  }

  return async (scan, signal) => {
    const now = deps.now();
    const scanId = scanIdOf(scan, deps.apiNamespace);
    const state = states.of(scan.metadata.uid!);
    const job = await jobOf(scan, scanId, state, signal);
    const own = job === null ? [] : byAttempt(withSearched(pods.byIndex('owner', job.metadata.uid!), state, now));
    const alive = own.some((pod) => !isPodTerminal(pod));
    state.noPodSince = job === null || alive ? null : (state.noPodSince ?? now);
    return {
      scan,
      scanId,
      now,
      job,
      scannerImage: deps.scannerImage,
      pods: own,
      startFailure: job && startFailureOf(deps.failures, own.at(-1) ?? job),
      podMessages: podMessages.of(scanId),
      queuePauses: deps.pausesOf(queueOf(scan)),
      busSince: deps.busSince(),
      state,
    };
  };
}
