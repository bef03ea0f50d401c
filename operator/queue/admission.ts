/** Decides which scans of a queue to admit: fair between organisations by weight, by priority and age within one. Pure. */
import type { AccessibilityScan, QueuePause, ScanQueue } from '../../core/protocol/custom-resources.ts';
import { conditionOf } from '../runtime/conditions.ts';
import { isAdmitted } from '../scan/kube-types.ts';
import { isAllowed } from './access.ts';
import { admitNext, type Shares } from './fair-share.ts';
import { byCreation, linesOf, type Line } from './line.ts';
import { waitedMs } from './pauses.ts';
import { limitsOf, noPlaces, takePlace, type Counts, type Places } from './places.ts';
import { backOffMs, isLive, isWaiting, organisationOf } from './admission-state.ts';

export interface AdmissionFacts {
  /** The queue's scans, including the operator's own writes, so that capacity is not given away twice. */
  scans: readonly AccessibilityScan[];
  /** Null if it does not exist: nothing is admitted. */
  queue: ScanQueue | null;
  /** The queue's pauses, which are no waiting time. */
  pauses: readonly QueuePause[];
  defaultMaxRunning: number;
  /** The organisations of scans that have a place but whose admission is still being written, by uid. */
  taken: ReadonlyMap<string, string>;
  /** The admissions that this operator remembers. They outlive the scans, which may be deleted as soon as they end. */
  lastAdmissions: ReadonlyMap<string, number>;
  now: Date;
}

export interface QueueLoad extends Counts {
  /** The number of waiting scans. `running`: admitted scans that have not ended. */
  queued: number;
  /** The waiting time of the scan that has waited longest. */
  oldestWaitSeconds: number;
  paused: boolean;
  /** The same counts by organisation. */
  organisations: ReadonlyMap<string, Counts & { queued: number }>;
}

/** The load is that after the admissions. */
export interface QueueDecision extends QueueLoad {
  /** The scans to admit, in order. */
  admit: AccessibilityScan[];
  /** The waiting scans that may not be admitted yet, because their Jobs could not be created. They are in no line. */
  backingOff: AccessibilityScan[];
  /** The waiting scans that may not use the queue. They are in no line. */
  refused: AccessibilityScan[];
  /** The scans that keep waiting, by organisation. */
  lines: ReadonlyMap<string, Line>;
  /** What is left after the admissions. */
  places: Places;
  shares: Shares;
}

export function decideAdmission(facts: AdmissionFacts): QueueDecision {
  const { scans, queue, defaultMaxRunning, taken, lastAdmissions, now } = facts;
  const paused = queue?.spec.paused ?? false;
  const limits = limitsOf(queue ?? { metadata: { name: '' }, spec: {} }, defaultMaxRunning);
  const places = noPlaces(queue === null || paused ? { ...limits, maxRunning: 0 } : limits);
  const waiting: AccessibilityScan[] = [];
  const backingOff: AccessibilityScan[] = [];
  const refused: AccessibilityScan[] = [];
  for (const scan of scans) {
    if (!isLive(scan)) continue;
    const takenBy = taken.get(scan.metadata.uid!);
    if (isAdmitted(scan)) takePlace(places, organisationOf(scan), scan.status?.startTime !== undefined);
    else if (takenBy !== undefined) takePlace(places, takenBy, false);
    else if (isWaiting(scan)) (!isAllowed(limits.access, scan) ? refused : backOffMs(scan, now) > 0 ? backingOff : waiting).push(scan);
  }
  const lines = linesOf(waiting, organisationOf);
  const last = newest(lastAdmissions, admissionsOf(scans));
  const latest = last.values().reduce((one, other) => Math.max(one, other), now.getTime());
  const shares: Shares = { weights: queue?.spec.weights ?? {}, lastAdmissions: last, latest };
  const admit = fill(lines, places, shares);
  return { admit, backingOff, refused, lines, places, shares, paused, ...loadOf(lines, { backingOff, refused }, places, facts) };
}

/** The time of the last admission of each organisation, from its scans that still exist, ended ones included. */
function admissionsOf(scans: readonly AccessibilityScan[]): Map<string, string> {
  const last = new Map<string, string>();
  for (const scan of scans) {
    const at = conditionOf(scan.status?.conditions, 'Admitted');
    if (at?.status !== 'True') continue;
    const organisation = organisationOf(scan);
    if (at.lastTransitionTime > (last.get(organisation) ?? '')) last.set(organisation, at.lastTransitionTime);
  }
  return last;
}

function newest(remembered: ReadonlyMap<string, number>, stated: ReadonlyMap<string, string>): Map<string, number> {
  const last = new Map(remembered);
  for (const [organisation, at] of stated) last.set(organisation, Math.max(last.get(organisation) ?? 0, Date.parse(at)));
  return last;
}

/** Assigns the free places, one by one. Removes the admitted scans from their lines. */
function fill(lines: ReadonlyMap<string, Line>, places: Places, shares: Shares): AccessibilityScan[] {
  const admit: AccessibilityScan[] = [];
  for (;;) {
    const next = admitNext(lines, places, shares, { started: false });
    if (next === null) return admit;
    admit.push(next.scan);
  }
}

function loadOf(
  lines: ReadonlyMap<string, Line>,
  { backingOff, refused }: Pick<QueueDecision, 'backingOff' | 'refused'>,
  places: Places,
  { pauses, now }: AdmissionFacts,
): Omit<QueueLoad, 'paused'> {
  let queued = 0;
  let oldest: AccessibilityScan | null = null;
  const organisations = new Map<string, Counts & { queued: number }>();
  for (const [name, counts] of places.organisations) organisations.set(name, { queued: 0, ...counts });
  const count = (name: string, waiting: readonly AccessibilityScan[]): void => {
    const counts = organisations.get(name) ?? { running: 0, starting: 0, queued: 0 };
    organisations.set(name, { ...counts, queued: counts.queued + waiting.length });
    queued += waiting.length;
  };
  for (const [name, line] of lines) count(name, line.rest());
  for (const scan of [...backingOff, ...refused]) count(organisationOf(scan), [scan]);
  // Without those that may not use the queue: more places would not help them.
  for (const scan of [...lines.values().flatMap((line) => line.rest()), ...backingOff])
    if (oldest === null || byCreation(scan, oldest) < 0) oldest = scan;
  return {
    queued,
    running: places.running,
    starting: places.starting,
    oldestWaitSeconds: oldest === null ? 0 : Math.floor(waitedMs(oldest, pauses, now) / 1000),
    organisations,
  };
}
