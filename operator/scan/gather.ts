/** Gathers the facts about a scan from the caches, its pods' messages, and the API server if a cache may lag behind. */
import { jobNameOf, scanIdOf, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
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
  children: Children;
  states: ReconcileStates;
  podMessages: PodMessageLog;
  /** The start of the current bus connection; null while disconnected. */
  busSince: () => Date | null;
  apiNamespace: string;
  now: () => Date;
}

export type Gather = (scan: AccessibilityScan) => Promise<Facts>;

/** The age after which a Job should have a pod, in milliseconds. */
const POD_DUE_MS = 3_000;

export function createGather(deps: GatherDeps): Gather {
  const { jobs, pods, children, states, podMessages } = deps;

  async function jobOf(scan: AccessibilityScan, scanId: string, state: ReconcileState): Promise<Job | null> {
    const cached = jobs.get(scan.metadata.namespace!, jobNameOf(scanId));
    if (cached !== undefined && isOwnedBy(cached, scan.metadata.uid!)) {
      state.job = null;
      const leaves = cached.metadata.uid === state.removedJob || cached.metadata.deletionTimestamp !== undefined;
      return leaves && hasEnded(scan) ? null : cached;
    }
    if (state.job !== null) return state.job.metadata.uid === state.removedJob ? null : state.job;
    // The status names a Job that the cache does not hold: it is gone, or the cache lags behind. Ask the API server.
    return scan.status?.jobName !== undefined && !hasEnded(scan) ? children.readJob(scan, scanId) : null;
  }

  return async (scan) => {
    const now = deps.now();
    const scanId = scanIdOf(scan, deps.apiNamespace);
    const state = states.of(scan.metadata.uid!);
    const job = await jobOf(scan, scanId, state);
    const own = job === null ? [] : byAttempt(pods.byIndex('owner', job.metadata.uid!));
    const alive = own.some((pod) => !isPodTerminal(pod));
    state.noPodSince = job === null || alive ? null : (state.noPodSince ?? now);
    const overdue = job !== null && own.length === 0 && now.getTime() - Date.parse(job.metadata.creationTimestamp!) > POD_DUE_MS;
    return {
      scan,
      scanId,
      now,
      job,
      pods: own,
      podCreationError: overdue && !hasEnded(scan) ? await children.podCreationError(job) : null,
      podMessages: podMessages.of(scanId),
      busSince: deps.busSince(),
      state,
    };
  };
}
