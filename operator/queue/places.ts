/** The places of running scans: how many are taken, by whom, whether an organisation may take another, and who may use the queue. */
import { PUBLIC_QUEUE, type ScanQueue } from '../../core/protocol/custom-resources.ts';
import { ANONYMOUS } from '../../core/organisation.ts';
import type { Clock } from '../../platform/clock.ts';
/** The namespaces and the organisations whose scans may use a queue; null allows all. A scan needs both. */
interface Access {
  namespaces: readonly string[] | null;
  organisations: readonly string[] | null;
}

/** The queue of public scans is for them alone, unless its ScanQueue names others: its places are limited for anonymous users. */
function accessOf({ metadata, spec }: Pick<ScanQueue, 'metadata' | 'spec'>): Access {
  return {
    namespaces: spec.allowedNamespaces ?? null,
    organisations: spec.allowedOrganisations ?? (metadata.name === PUBLIC_QUEUE ? [ANONYMOUS] : null),
  };
}

export function mayUse({ namespaces, organisations }: Access, namespace: string, organisation: string): boolean {
  return (namespaces?.includes(namespace) ?? true) && (organisations?.includes(organisation) ?? true);
}

export interface Limits {
  access: Access;
  maxRunning: number;
  maxRunningPerOrganisation: number;
  /** The maximum number of admitted scans of an organisation whose pod has not started, because they may never start. */
  maxStartingPerOrganisation: number;
}

export interface Counts {
  running: number;
  /** The running scans whose pod has not started yet. */
  starting: number;
}

export interface Places extends Counts {
  readonly limits: Limits;
  readonly organisations: Map<string, Counts>;
}

/** The limits of a queue, without regard to a pause. */
export function limitsOf({ metadata, spec }: Pick<ScanQueue, 'metadata' | 'spec'>, defaultMaxRunning: number): Limits {
  const { maxRunning = defaultMaxRunning, maxRunningPerOrganisation, maxStartingPerOrganisation } = spec;
  // All public scans are of one organisation, so none of its places must be left to others.
  const defaultMaxStarting = metadata.name === PUBLIC_QUEUE ? maxRunning : Math.ceil(maxRunning / 2);
  return {
    access: accessOf({ metadata, spec }),
    maxRunning,
    maxRunningPerOrganisation: maxRunningPerOrganisation ?? (metadata.name === PUBLIC_QUEUE ? maxRunning : mostOfOne(maxRunning)),
    maxStartingPerOrganisation: maxStartingPerOrganisation ?? defaultMaxStarting,
  };
}

/** Each tenth place is left to others, so that one organisation with long scans does not hold a queue for hours. */
const mostOfOne = (maxRunning: number): number => maxRunning - Math.floor(maxRunning / 10);

export function noPlaces(limits: Limits): Places {
  return { limits, running: 0, starting: 0, organisations: new Map() };
}

const NONE: Counts = Object.freeze({ running: 0, starting: 0 });

export function hasPlace({ limits, running, organisations }: Places, organisation: string): boolean {
  const own = organisations.get(organisation) ?? NONE;
  return running < limits.maxRunning && own.running < limits.maxRunningPerOrganisation && own.starting < limits.maxStartingPerOrganisation;
}

/** Counts the pods of a running scan, without a check of the limits. */
export function takePlace(places: Places, organisation: string, started: boolean, pods = 1): void {
  const own = places.organisations.get(organisation) ?? { running: 0, starting: 0 };
  places.organisations.set(organisation, own);
  for (const counts of [places, own]) {
    counts.running += pods;
    if (!started) counts.starting += 1;
  }
}

/** Takes the places that are free for the other pods of a scan that has one. @returns the number of its pods */
export function takeFurther(places: Places, organisation: string, wanted: number): number {
  let pods = 1;
  for (; pods < wanted && hasPlace(places, organisation); pods++) takePlace(places, organisation, true);
  return pods;
}

/** Who has places while the admission is written. */
export interface Holder {
  organisation: string;
  pods: number;
}

interface Applicant {
  uid: string;
  namespace: string;
  organisation: string;
  /** The most pods that it can use. Default: 1. */
  wanted?: number;
}

/** The number of organisations that are remembered per queue. A forgotten one counts by its scans that still exist. */
const REMEMBERED_MAX = 4096;

interface QueueState {
  /** The scans whose admission is being written, by uid. */
  taken: Map<string, Holder>;
  /** The time of each organisation's last admission, in milliseconds since the epoch. */
  lastAdmissions: Map<string, number>;
  places: Places | null;
}

export type AdmissionGate = ReturnType<typeof createAdmissionGate>;

/**
 * Admits a scan in the same write that queues it, if its queue has a free place. The queue's plan opens the gate with the
 * places that it has left. The gate is closed while a plan is made, so that no place is assigned twice. It also remembers
 * when each organisation was last admitted, because that is forgotten with scans that are deleted when they end.
 */
export function createAdmissionGate(clock: Pick<Clock, 'now'>) {
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

  function stateOf(queue: string): QueueState {
    const state = queues.get(queue) ?? { taken: new Map<string, Holder>(), lastAdmissions: new Map<string, number>(), places: null };
    queues.set(queue, state);
    return state;
  }

  return {
    /** Takes places. @returns how many; if none is free for the scan, the queue admits it later. Call `settled` after the write */
    take(queue: string, { uid, namespace, organisation, wanted = 1 }: Applicant): number {
      const state = queues.get(queue);
      if (state?.places == null || !hasPlace(state.places, organisation)) return 0;
      if (!mayUse(state.places.limits.access, namespace, organisation)) return 0;
      takePlace(state.places, organisation, false);
      const pods = takeFurther(state.places, organisation, wanted);
      state.taken.set(uid, { organisation, pods });
      remember(state, organisation);
      return pods;
    },
    /** The admission was written, or the write failed. */
    settled: (queue: string, uid: string) => void queues.get(queue)?.taken.delete(uid),
    /** Closes the gate of a queue until `open`. */
    close(queue: string): Pick<QueueState, 'taken' | 'lastAdmissions'> {
      const state = queues.get(queue);
      if (state === undefined) return { taken: new Map(), lastAdmissions: new Map() };
      state.places = null;
      return { taken: new Map(state.taken), lastAdmissions: new Map(state.lastAdmissions) };
    },
    open: (queue: string, places: Places): void => void (stateOf(queue).places = places),
    /** Holds the places that the queue's plan has given to a scan, while its admission is written. Call `settled` after the write. */
    hold(queue: string, uid: string, holder: Holder): void {
      const state = stateOf(queue);
      state.taken.set(uid, holder);
      remember(state, holder.organisation);
    },
    /** The queue does not exist any more, and no scan names it. */
    forget(queue: string): void {
      if (queues.get(queue)?.taken.size === 0) queues.delete(queue);
    },
  };
}
