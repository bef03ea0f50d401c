/** Gathers what is known about a scan: from the caches, from what its pods said, and from the server where a cache may be behind. */
import { jobNameOf, scanIdOf, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import type { Children } from './launch/children.ts';
import { byAge, isOver, isOwnedBy, type Job, type Pod } from './kube-types.ts';
import type { Memories, Memory } from './reconcile-state.ts';
import type { Facts } from './policy/plan.ts';
import type { Voices } from './results/pod-message-log.ts';
import { hasEnded } from './policy/status.ts';

export interface GatherParts {
  jobs: { get(namespace: string, name: string): Job | undefined };
  /** Indexed by the uid of their owner as `owner`. */
  pods: { byIndex(name: string, value: string): Pod[] };
  children: Children;
  memories: Memories;
  voices: Voices;
  /** Since when the bus has been connected without a break; null while it is not. */
  busSince: () => Date | null;
  apiNamespace: string;
  now: () => Date;
}

export type Gather = (scan: AccessibilityScan) => Promise<Facts>;

/** A Job that is younger has no pod because the Job controller has only just seen it, in milliseconds. */
const POD_DUE_MS = 3_000;

export function createGather(parts: GatherParts): Gather {
  const { jobs, pods, children, memories, voices } = parts;

  async function jobOf(scan: AccessibilityScan, scanId: string, memory: Memory): Promise<Job | null> {
    const cached = jobs.get(scan.metadata.namespace!, jobNameOf(scanId));
    if (cached !== undefined && isOwnedBy(cached, scan.metadata.uid!)) {
      memory.job = null;
      const leaves = cached.metadata.uid === memory.removedJob || cached.metadata.deletionTimestamp !== undefined;
      return leaves && hasEnded(scan) ? null : cached;
    }
    if (memory.job !== null) return memory.job.metadata.uid === memory.removedJob ? null : memory.job;
    // The status speaks of a Job that the cache does not have: it is gone, or the cache is behind. Only the server knows.
    return scan.status?.jobName !== undefined && !hasEnded(scan) ? children.readJob(scan, scanId) : null;
  }

  return async (scan) => {
    const now = parts.now();
    const scanId = scanIdOf(scan, parts.apiNamespace);
    const memory = memories.of(scan.metadata.uid!);
    const job = await jobOf(scan, scanId, memory);
    const own = job === null ? [] : byAge(pods.byIndex('owner', job.metadata.uid!));
    const alive = own.some((pod) => !isOver(pod));
    memory.noPodSince = job === null || alive ? null : (memory.noPodSince ?? now);
    const overdue = job !== null && own.length === 0 && now.getTime() - Date.parse(job.metadata.creationTimestamp!) > POD_DUE_MS;
    return {
      scan,
      scanId,
      now,
      job,
      pods: own,
      trouble: overdue && !hasEnded(scan) ? await children.trouble(job) : null,
      noPodSince: memory.noPodSince,
      heard: voices.of(scanId),
      busSince: parts.busSince(),
      refused: memory.refused,
      mirrored: memory.mirrored,
      mirroredAt: memory.mirroredAt,
      statusAt: memory.statusAt,
    };
  };
}
