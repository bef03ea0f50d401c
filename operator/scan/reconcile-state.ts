/** In-memory state per live scan. Losing it, as after a restart, causes extra work but no wrong results. */
import type { PageProgress } from '../../core/scan/counts.ts';
import type { Phase } from '../../core/scan/phases.ts';
import type { Job } from './kube-types.ts';

export interface ReconcileState {
  /** The Job from the create response, until the cache holds it. */
  job: Job | null;
  /** The uid of the deleted Job, until the cache has processed the deletion. */
  removedJob: string | null;
  /** The time since which the Job has had no live pod. */
  noPodSince: Date | null;
  /** The reasons why results were refused, by attempt. */
  refused: Map<string, string>;
  /** The last write to the read model; null before the first write. */
  mirrored: { phase: Phase; pages: PageProgress } | null;
  mirroredAt: Date | null;
  /** The time of the last write of page counts to the status. */
  statusAt: Date | null;
}

export interface ReconcileStates {
  /** Returns the state of a scan by its uid. Callers mutate it. */
  of(uid: string): ReconcileState;
  forget(uid: string): void;
}

export function newReconcileState(): ReconcileState {
  return {
    job: null,
    removedJob: null,
    noPodSince: null,
    refused: new Map(),
    mirrored: null,
    mirroredAt: null,
    statusAt: null,
  };
}

export function createReconcileStates(): ReconcileStates {
  const states = new Map<string, ReconcileState>();
  return {
    of(uid) {
      const state = states.get(uid) ?? newReconcileState();
      states.set(uid, state);
      return state;
    },
    forget: (uid) => void states.delete(uid),
  };
}
