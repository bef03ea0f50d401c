/** In-memory state per live scan. Losing it, as after a restart, causes extra work but no wrong results. */
import type { PodIdentity, PodStored } from '../../core/protocol/pod-messages.ts';
import type { PageProgress } from '../../core/scan/counts.ts';
import type { Phase } from '../../core/scan/phases.ts';
import { createStates, type States } from '../runtime/states.ts';
import type { Job, Pod } from './kube-types.ts';
import type { VerifiedResult } from './policy/status.ts';
import type { FoundResult } from './results/find-results.ts';

export interface ReconcileState {
  /** Since when, and when last, no name server answered for the scan's URL; null if its last vetting resolved it. */
  unresolved: { since: Date; at: Date } | null;
  /** The attempts to reserve credits or to create the Job that failed since the admission, and the last problem; null if none has. */
  launchFailure: { count: number; message: string } | null;
  /** Whether this process created the Job. The status names the Job only with the next change. */
  launched: boolean;
  /** Whether this process has stopped the pods of the canceled scan. */
  podsStopped: boolean;
  /** The time since which the Job has had no live pod. */
  noPodSince: Date | null;
  /** The reasons why results were refused, by attempt. */
  refused: Map<number, string>;
  /** The work on results that has been started and has not ended; null if no work is in progress. */
  task: ResultTask | null;
  /** The time since which the task fails because a dependency is down; null if it does not. */
  outageSince: Date | null;
  /** The verified results, until they are in the status. A conflict of writes must not download and verify them again. */
  verified: VerifiedResult | null;
  /** The last search for results that no message announced; null before the first one. */
  search: Search | null;
  /** The last write to the read model; null before the first write. */
  mirrored: { phase: Phase; pages: PageProgress } | null;
  mirroredAt: Date | null;
  /** The time of the last write of page counts to the status. */
  statusAt: Date | null;
}

/** Results that a pod announced, or that were found. `slot` is absent if they are in the slot of the pod. */
export interface AnnouncedResult {
  stored: PodStored;
  slot?: PodIdentity;
}

/** Work on the results of a scan, which is slow and therefore not done by the workers of scans. */
export type ResultTask =
  { do: 'search'; job: Job | null; slots: readonly PodIdentity[] } | { do: 'verify'; stored: PodStored; slot: PodIdentity };

/** The outcome of a search for results. */
export interface Search {
  at: Date;
  /** The results that pods have stored, latest attempt last. */
  found: readonly FoundResult[];
  /** The Job's pods on the API server, because a watch may be silent for minutes before it is restarted. */
  pods: readonly Pod[];
}

export type ReconcileStates = States<ReconcileState>;

export function newReconcileState(): ReconcileState {
  return {
    unresolved: null,
    launchFailure: null,
    launched: false,
    podsStopped: false,
    noPodSince: null,
    refused: new Map(),
    task: null,
    outageSince: null,
    verified: null,
    search: null,
    mirrored: null,
    mirroredAt: null,
    statusAt: null,
  };
}

export const createReconcileStates = (): ReconcileStates => createStates(newReconcileState);
