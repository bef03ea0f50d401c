/** What this operator remembers of each living scan beside the cluster and the stores: all of it may be lost, it only saves work. */
import type { PageProgress, Phase } from '../../core/scan/options.ts';
import type { Job } from './kube-types.ts';

export interface ReconcileState {
  /** The Job as our create left it, until the cache has it. */
  job: Job | null;
  /** The uid of the Job that was removed, until the cache has seen that. */
  removedJob: string | null;
  noPodSince: Date | null;
  refused: Map<string, string>;
  mirrored: { phase: Phase; pages: PageProgress } | null;
  mirroredAt: Date | null;
  statusAt: Date | null;
}

export interface ReconcileStates {
  /** What is remembered of a scan, by its uid; written to in place. */
  of(uid: string): ReconcileState;
  forget(uid: string): void;
}

export function createReconcileStates(): ReconcileStates {
  const states = new Map<string, ReconcileState>();
  return {
    of(uid) {
      const memory = states.get(uid) ?? {
        job: null,
        removedJob: null,
        noPodSince: null,
        refused: new Map(),
        mirrored: null,
        mirroredAt: null,
        statusAt: null,
      };
      states.set(uid, memory);
      return memory;
    },
    forget: (uid) => void states.delete(uid),
  };
}
