/** Decides which scans to admit: fair between organisations, first come, first served within one. Pure. */
import { SETTLE_FINALIZER, type AccessibilityScan, type ScanQueue } from '../../core/protocol/custom-resources.ts';
import { conditionOf } from '../runtime/conditions.ts';
import { isAdmitted } from '../scan/kube-types.ts';
import { TOO_MANY_LIVE_SCANS } from '../scan/policy/condition-reasons.ts';
import { hasEnded } from '../scan/policy/status.ts';
import { hasPlace, noPlaces, takePlace, type Limits, type Places } from './places.ts';

export interface QueueLoad {
  /** The number of waiting scans. */
  queued: number;
  /** The number of admitted scans that have not ended. */
  running: number;
  /** The waiting time of the scan that has waited longest. */
  oldestWaitSeconds: number;
  /** The number of scans that have not ended, including those not vetted yet, without those that wait for their organisation's share. The API compares it with its limit. */
  live: number;
  paused: boolean;
}

/** The load is that after the admissions. */
export interface QueueDecision extends QueueLoad {
  /** The scans to admit, in order. */
  admit: AccessibilityScan[];
  /** The scans that keep waiting, oldest first. */
  waiting: AccessibilityScan[];
  /** What is left after the admissions. */
  places: Places;
}

/** The limits of a queue. Null or an absent field means the default. */
export function limitsOf(queue: ScanQueue | null, defaultMaxRunning: number): Limits {
  const { paused = false, maxRunning = defaultMaxRunning, maxRunningPerOrganisation, maxStartingPerOrganisation } = queue?.spec ?? {};
  return {
    maxRunning: paused ? 0 : maxRunning,
    maxRunningPerOrganisation: maxRunningPerOrganisation ?? maxRunning,
    maxStartingPerOrganisation: maxStartingPerOrganisation ?? Math.ceil(maxRunning / 2),
  };
}

/** Returns the organisation that the operator has determined. Labels do not count, because authors can write them. */
export function organisationOf(scan: AccessibilityScan): string {
  return scan.status?.organisation ?? '';
}

/** A scan waits if it was vetted, is not admitted, and is not being canceled or deleted. */
function isWaiting(scan: AccessibilityScan): boolean {
  const ending = scan.spec.cancel === true || scan.metadata.deletionTimestamp !== undefined;
  return scan.status?.phase !== undefined && !hasEnded(scan) && !isAdmitted(scan) && !ending;
}

/** A scan that waits without credits takes no one's place: one organisation with many manifests must not fill the installation. */
function isHeldBack(scan: AccessibilityScan): boolean {
  return scan.status?.phase === undefined && conditionOf(scan.status?.conditions, 'Admitted')?.reason === TOO_MANY_LIVE_SCANS;
}

/** A deleted scan is settled without a last status. Afterwards only foreign finalizers keep it. */
function isLive(scan: AccessibilityScan): boolean {
  const settled = scan.metadata.deletionTimestamp !== undefined && !scan.metadata.finalizers?.includes(SETTLE_FINALIZER);
  return !hasEnded(scan) && !settled && !isHeldBack(scan);
}

/**
 * @param scans all scans, including the operator's own writes, so that capacity is not given away twice
 * @param queue null if it does not exist; the queue is then open and has the default size
 * @param taken the organisations of scans that have a place but whose admission is still being written, by uid
 */
export function decideAdmission(
  scans: readonly AccessibilityScan[],
  queue: ScanQueue | null,
  defaultMaxRunning: number,
  now: Date,
  taken: ReadonlyMap<string, string> = new Map(),
): QueueDecision {
  const live = scans.filter(isLive);
  const places = noPlaces(limitsOf(queue, defaultMaxRunning));
  const lines = new Map<string, AccessibilityScan[]>();
  for (const scan of live) {
    const takenBy = taken.get(scan.metadata.uid!);
    if (isAdmitted(scan)) takePlace(places, organisationOf(scan), scan.status?.startTime !== undefined);
    else if (takenBy !== undefined) takePlace(places, takenBy, false);
    else if (isWaiting(scan)) {
      const line = lines.get(organisationOf(scan));
      if (line === undefined) lines.set(organisationOf(scan), [scan]);
      else line.push(scan);
    }
  }
  for (const line of lines.values()) line.sort(byCreation);
  const admit = fill(places, lines, lastAdmissions(scans));
  const waiting = [...lines.values()].flat().toSorted(byCreation);
  const oldest = waiting[0] === undefined ? 0 : (now.getTime() - createdAt(waiting[0])) / 1000;
  return {
    admit,
    waiting,
    places,
    queued: waiting.length,
    running: places.running,
    oldestWaitSeconds: Math.max(0, Math.floor(oldest)),
    live: live.length,
    paused: queue?.spec.paused ?? false,
  };
}

/** The time of the last admission of each organisation, from its scans that still exist, ended ones included. */
function lastAdmissions(scans: readonly AccessibilityScan[]): Map<string, string> {
  const last = new Map<string, string>();
  for (const scan of scans) {
    const at = conditionOf(scan.status?.conditions, 'Admitted');
    if (at?.status !== 'True') continue;
    const organisation = organisationOf(scan);
    if (at.lastTransitionTime > (last.get(organisation) ?? '')) last.set(organisation, at.lastTransitionTime);
  }
  return last;
}

/** The waiting scans of one organisation that may take a place now. */
interface Candidate {
  organisation: string;
  line: AccessibilityScan[];
  running: number;
  lastAdmission: string;
}

/**
 * The organisation with the fewest running scans comes first, then the one whose last admission is the longest ago, so that
 * a long line does not take every place of a small queue, then the oldest scan.
 */
function byShare(a: Candidate, b: Candidate): number {
  if (a.running !== b.running) return a.running - b.running;
  if (a.lastAdmission !== b.lastAdmission) return a.lastAdmission < b.lastAdmission ? -1 : 1;
  return byCreation(a.line[0]!, b.line[0]!);
}

/** Assigns the free places, one by one. Removes the admitted scans from their lines. */
function fill(
  places: Places,
  lines: ReadonlyMap<string, AccessibilityScan[]>,
  lastAdmissions: ReadonlyMap<string, string>,
): AccessibilityScan[] {
  const admit: AccessibilityScan[] = [];
  for (;;) {
    let next: Candidate | null = null;
    for (const [organisation, line] of lines) {
      if (line.length === 0 || !hasPlace(places, organisation)) continue;
      const running = places.organisations.get(organisation)?.running ?? 0;
      const candidate = { organisation, line, running, lastAdmission: lastAdmissions.get(organisation) ?? '' };
      if (next === null || byShare(candidate, next) < 0) next = candidate;
    }
    if (next === null) return admit;
    takePlace(places, next.organisation, false);
    admit.push(next.line.shift()!);
  }
}

const createdAt = (scan: AccessibilityScan): number => Date.parse(scan.metadata.creationTimestamp!);

/** Creation times are whole seconds. The uid gives scans of the same second a stable order. */
function byCreation(a: AccessibilityScan, b: AccessibilityScan): number {
  return createdAt(a) - createdAt(b) || a.metadata.uid!.localeCompare(b.metadata.uid!);
}
