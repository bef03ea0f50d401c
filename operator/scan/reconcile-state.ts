/** What this operator remembers of each live scan besides the cluster and the stores. Losing it costs work, never correctness. */
import type { PageProgress } from '../../core/scan/counts.ts';
import type { Phase } from '../../core/scan/phases.ts';
import type { Job } from './kube-types.ts';

export interface ReconcileState {
  /** The Job as the create request returned it, until the cache holds it. */
  job: Job | null;
  /** The uid of the deleted Job, until the cache has seen the deletion. */
  removedJob: string | null;
  /** Since when this operator sees a Job without a live pod. */
  noPodSince: Date | null;
  /** Results that were verified and refused: the reason, by attempt. */
  refused: Map<string, string>;
  /** What this operator last wrote to the read model; null if it has not written. */
  mirrored: { phase: Phase; pages: PageProgress } | null;
  mirroredAt: Date | null;
  /** When this operator last wrote page counts to the status. */
  statusAt: Date | null;
}

export interface ReconcileStates {
  /** The state of a scan, by its uid. The caller changes it in place. */
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
