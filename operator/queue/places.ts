/** The places of running scans: how many are taken, by whom, and whether an organisation may take another. */
import { accessOf, type Access } from './access.ts';
import { PUBLIC_QUEUE, type ScanQueue } from '../../core/protocol/custom-resources.ts';

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

export function runningOf({ organisations }: Places, organisation: string): number {
  return organisations.get(organisation)?.running ?? 0;
}

const NONE: Counts = Object.freeze({ running: 0, starting: 0 });

export function hasPlace({ limits, running, organisations }: Places, organisation: string): boolean {
  const own = organisations.get(organisation) ?? NONE;
  return running < limits.maxRunning && own.running < limits.maxRunningPerOrganisation && own.starting < limits.maxStartingPerOrganisation;
}

/** Counts a running scan, without a check of the limits. */
export function takePlace(places: Places, organisation: string, started: boolean): void {
  const own = places.organisations.get(organisation) ?? { running: 0, starting: 0 };
  places.organisations.set(organisation, own);
  for (const counts of [places, own]) {
    counts.running += 1;
    if (!started) counts.starting += 1;
  }
}
