/**
 * Admits a scan in the same write that queues it, if its queue has a free place. The queue's plan opens the gate with the
 * places that it has left. The gate is closed while a plan is made, so that no place is assigned twice. It also remembers
 * when each organisation was last admitted, because that is forgotten with scans that are deleted when they end.
 */
import type { Clock } from '../../platform/clock.ts';
import { mayUse } from './access.ts';
import { hasPlace, takePlace, type Places } from './places.ts';

export interface AdmissionGate {
  /** Takes a place. @returns false if none is free for it; the queue then admits the scan later. Call `settled` after the write */
  take(queue: string, scan: Applicant): boolean;
  /** The admission was written, or the write failed. */
  settled(queue: string, uid: string): void;
  /** Closes the gate of a queue until `open`. */
  close(queue: string): Admissions;
  open(queue: string, places: Places): void;
  /** The queue's plan has admitted a scan of this organisation. */
  admitted(queue: string, organisation: string): void;
  /** The queue does not exist any more, and no scan names it. */
  forget(queue: string): void;
}

/** A scan that asks for a place. */
export interface Applicant {
  uid: string;
  namespace: string;
  organisation: string;
}

export interface Admissions {
  /** The organisations of scans whose admission is being written, by uid. */
  taken: ReadonlyMap<string, string>;
  /** The time of each organisation's last admission, in milliseconds since the epoch. */
  lastAdmissions: ReadonlyMap<string, number>;
}

/** The number of organisations that are remembered per queue. A forgotten one counts by its scans that still exist. */
const REMEMBERED_MAX = 4096;

interface QueueState {
  taken: Map<string, string>;
  lastAdmissions: Map<string, number>;
  places: Places | null;
}

export function createAdmissionGate(clock: Pick<Clock, 'now'>): AdmissionGate {
  const queues = new Map<string, QueueState>();
  /** The last time that was given out. No two admissions have the same one, so that their order counts. */
  let last = 0;

  function remember({ lastAdmissions }: QueueState, organisation: string): void {
    // Later than now, because resources state their admissions in whole seconds: one of this very moment came before.
    last = Math.max(clock.now().getTime(), last) + 1;
    lastAdmissions.delete(organisation);
    lastAdmissions.set(organisation, last);
    if (lastAdmissions.size > REMEMBERED_MAX) lastAdmissions.delete(lastAdmissions.keys().next().value!);
  }

  return {
    take(queue, { uid, namespace, organisation }) {
      const state = queues.get(queue);
      if (state?.places == null || !hasPlace(state.places, organisation)) return false;
      if (!mayUse(state.places.limits.access, namespace, organisation)) return false;
      takePlace(state.places, organisation, false);
      state.taken.set(uid, organisation);
      remember(state, organisation);
      return true;
    },
    settled: (queue, uid) => void queues.get(queue)?.taken.delete(uid),
    close(queue) {
      const state = queues.get(queue);
      if (state === undefined) return { taken: new Map(), lastAdmissions: new Map() };
      state.places = null;
      return { taken: new Map(state.taken), lastAdmissions: new Map(state.lastAdmissions) };
    },
    open(queue, places) {
      const state = queues.get(queue) ?? { taken: new Map(), lastAdmissions: new Map(), places };
      state.places = places;
      queues.set(queue, state);
    },
    admitted(queue, organisation) {
      const state = queues.get(queue);
      if (state !== undefined) remember(state, organisation);
    },
    forget(queue) {
      if (queues.get(queue)?.taken.size === 0) queues.delete(queue);
    },
  };
}
