/** Gathers the facts about a scan: from the caches, from its pods' messages, and from the server if a cache may be behind. */
import { jobNameOf, scanIdOf, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import type { Children } from './launch/children.ts';
import { isOver, isOwnedBy, type Job, type Pod } from './kube-types.ts';
import type { ReconcileStates, ReconcileState } from './reconcile-state.ts';
import { byAttempt } from './policy/pod-identity.ts';
import type { Facts } from './policy/plan.ts';
import type { PodMessageLog } from './results/pod-message-log.ts';
import { hasEnded } from './policy/status.ts';

export interface GatherDeps {
  jobs: { get(namespace: string, name: string): Job | undefined };
  /** Indexed by the uid of their owner as `owner`. */
  pods: { byIndex(name: string, value: string): Pod[] };
  children: Children;
  states: ReconcileStates;
  podMessages: PodMessageLog;
  /** Since when the bus has been connected without interruption; null while it is disconnected. */
  busSince: () => Date | null;
  apiNamespace: string;
  now: () => Date;
}

export type Gather = (scan: AccessibilityScan) => Promise<Facts>;

/** A younger Job may have no pod because the Job controller has only just seen it, in milliseconds. */
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
    // The status names a Job that the cache does not hold: it is gone, or the cache is behind. Only the server knows.
    return scan.status?.jobName !== undefined && !hasEnded(scan) ? children.readJob(scan, scanId) : null;
  }

  return async (scan) => {
    const now = deps.now();
    const scanId = scanIdOf(scan, deps.apiNamespace);
    const state = states.of(scan.metadata.uid!);
    const job = await jobOf(scan, scanId, state);
    const own = job === null ? [] : byAttempt(pods.byIndex('owner', job.metadata.uid!));
    const alive = own.some((pod) => !isOver(pod));
    state.noPodSince = job === null || alive ? null : (state.noPodSince ?? now);
    const overdue = job !== null && own.length === 0 && now.getTime() - Date.parse(job.metadata.creationTimestamp!) > POD_DUE_MS;
    return {
      scan,
      scanId,
      now,
      job,
      pods: own,
      trouble: overdue && !hasEnded(scan) ? await children.trouble(job) : null,
      podMessages: podMessages.of(scanId),
      busSince: deps.busSince(),
      state,
    };
  };
}
