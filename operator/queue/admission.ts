/** Decides which scans of a queue to admit: fair between organisations by weight, by priority and age within one. Pure. */
import { type AccessibilityScan, priorityOf, type QueuePause, type ScanQueue } from '../../core/protocol/custom-resources.ts';
import { conditionOf } from '../runtime/conditions.ts';
import { isAdmitted } from '../scan/kube-types.ts';
import { type Counts, type Holder, hasPlace, mayUse, limitsOf, noPlaces, type Places, takeFurther, takePlace } from './places.ts';
import { podsWanted } from '../../core/scan/options.ts';
import { backOffMs, isLive, isWaiting, organisationOf, waitedMs } from './waiting.ts';
export interface AdmissionFacts {
  /** The queue's scans, including the operator's own writes, so that capacity is not given away twice. */
  scans: readonly AccessibilityScan[];
  /** Null if it does not exist: nothing is admitted. */
  queue: ScanQueue | null;
  /** The queue's pauses, which are no waiting time. */
  pauses: readonly QueuePause[];
  defaultMaxRunning: number;
  /** The scans that have places but whose admission is still being written, by uid. */
  taken: ReadonlyMap<string, Holder>;
  /** The admissions that this operator remembers. They outlive the scans, which may be deleted as soon as they end. */
  lastAdmissions: ReadonlyMap<string, number>;
  /** Whether a waiting scan is left out for a while, because writes of its share are in progress, or one was refused. */
  isLeftOut: (scan: AccessibilityScan) => boolean;
  now: Date;
}

export interface QueueLoad extends Counts {
  /** The number of waiting scans. `running`: admitted scans that have not ended. */
  queued: number;
  oldestWaitSeconds: number;
  paused: boolean;
  organisations: ReadonlyMap<string, Counts & { queued: number }>;
}

/** The load is that after the admissions. */
export interface QueueDecision extends QueueLoad {
  admit: AccessibilityScan[];
  /** The pods of admitted scans that have more than one, by uid. */
  pods: ReadonlyMap<string, number>;
  /** The waiting scans that may not be admitted yet, because they could not be started or are left out. They are in no line. */
  backingOff: AccessibilityScan[];
  /** The waiting scans that may not use the queue. They are in no line. */
  refused: AccessibilityScan[];
  /** The scans that keep waiting, by organisation. */
  lines: ReadonlyMap<string, Line>;
  places: Places;
  shares: Shares;
}

export function decideAdmission(facts: AdmissionFacts): QueueDecision {
  const { scans, queue, defaultMaxRunning, taken, lastAdmissions, isLeftOut, now } = facts;
  const paused = queue?.spec.paused ?? false;
  const limits = limitsOf(queue ?? { metadata: { name: '' }, spec: {} }, defaultMaxRunning);
  const places = noPlaces(queue === null || paused ? { ...limits, maxRunning: 0 } : limits);
  const waiting: AccessibilityScan[] = [];
  const backingOff: AccessibilityScan[] = [];
  const refused: AccessibilityScan[] = [];
  for (const scan of scans) {
    if (!isLive(scan)) continue;
    const takenBy = taken.get(scan.metadata.uid!);
    if (isAdmitted(scan)) takePlace(places, organisationOf(scan), scan.status?.startTime !== undefined, scan.status?.pods);
    else if (takenBy !== undefined) takePlace(places, takenBy.organisation, false, takenBy.pods);
    else if (!isWaiting(scan)) continue;
    else if (!mayUse(limits.access, scan.metadata.namespace!, organisationOf(scan))) refused.push(scan);
    else (backOffMs(scan, now) > 0 || isLeftOut(scan) ? backingOff : waiting).push(scan);
  }
  const lines = linesOf(waiting, organisationOf);
  const last = newest(lastAdmissions, admissionsOf(scans));
  const latest = last.values().reduce((one, other) => Math.max(one, other), now.getTime());
  const shares: Shares = { weights: queue?.spec.weights ?? {}, lastAdmissions: last, latest };
  const admit: AccessibilityScan[] = [];
  // Each call removes the admitted scan from its line.
  for (let next; (next = admitNext(lines, places, shares, { started: false })) !== null;) admit.push(next.scan);
  // Only the places that no waiting scan can use.
  const pods = new Map<string, number>();
  for (const scan of admit) {
    const own = takeFurther(places, organisationOf(scan), podsWanted(scan.spec));
    if (own > 1) pods.set(scan.metadata.uid!, own);
  }
  return { admit, pods, backingOff, refused, lines, places, shares, paused, ...loadOf(lines, { backingOff, refused }, places, facts) };
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

const DEFAULT_WEIGHT = 1;

export interface Shares {
  /** The weights that differ from `DEFAULT_WEIGHT`, by organisation. */
  weights: Readonly<Record<string, number>>;
  /** The time of each organisation's last admission, in milliseconds since the epoch. An absent one was never admitted. */
  lastAdmissions: Map<string, number>;
  /** Not before any of them. */
  latest: number;
}

/**
 * Gives the next place to a scan and removes it from its line.
 * @param started whether its pod counts as started
 * @returns the scan and its organisation; null if no scan may take a place
 */
export function admitNext(
  lines: ReadonlyMap<string, Line>,
  places: Places,
  shares: Shares,
  { started }: { started: boolean },
): { scan: AccessibilityScan; organisation: string } | null {
  const organisation = nextOrganisation(lines, places, shares);
  if (organisation === null) return null;
  takePlace(places, organisation, started);
  // Later than every admission before it, so that the order within one plan counts.
  shares.latest += 1;
  shares.lastAdmissions.set(organisation, shares.latest);
  return { scan: lines.get(organisation)!.take(), organisation };
}

/**
 * Returns the organisation whose scan takes the next place, or null if none may take one. The organisation with the fewest
 * running scans for its weight comes first. Among equals it is the one whose last admission is the longest ago, then the one whose next
 * scan is the oldest. Without the second rule, a long line would take every place of a small queue. Priorities have no say: an author
 * could overtake others by writing a number.
 */
function nextOrganisation(lines: ReadonlyMap<string, Line>, places: Places, { weights, lastAdmissions }: Shares): string | null {
  if (places.running >= places.limits.maxRunning) return null;
  // Without an object for each organisation, because there may be thousands.
  let next: { organisation: string; line: Line } | null = null;
  let [fewest, nextWeight, longestAgo] = [0, 1, 0];
  for (const [organisation, line] of lines) {
    if (line.length === 0 || !hasPlace(places, organisation)) continue;
    const running = places.organisations.get(organisation)?.running ?? 0;
    const weight = weightOf(weights, organisation);
    const lastAdmission = lastAdmissions.get(organisation) ?? 0;
    const order = next === null ? -1 : running * nextWeight - fewest * weight || lastAdmission - longestAgo;
    if (order > 0 || (order === 0 && byCreation(line.head(), next!.line.head()) >= 0)) continue;
    next = { organisation, line };
    [fewest, nextWeight, longestAgo] = [running, weight, lastAdmission];
  }
  return next?.organisation ?? null;
}

/** An organisation's ID may be the name of a property that every object has. */
function weightOf(weights: Readonly<Record<string, number>>, organisation: string): number {
  return Object.hasOwn(weights, organisation) ? weights[organisation]! : DEFAULT_WEIGHT;
}

/** The operator does nothing else meanwhile, so it must end within some milliseconds. */
const COMPARISONS_MAX = 200_000;

/**
 * The order in which the queue would admit the waiting scans if it had a place for each of them. Consumes the lines.
 * @param max the number of scans to return at most. Fewer if so many organisations wait that it would take long
 */
export function waitingOrder(
  { lines, places, shares }: Pick<QueueDecision, 'lines' | 'places' | 'shares'>,
  max: number,
): AccessibilityScan[] {
  const unlimited: Places = {
    ...places,
    limits: { ...places.limits, maxRunning: Infinity, maxRunningPerOrganisation: Infinity, maxStartingPerOrganisation: Infinity },
    organisations: new Map([...places.organisations].map(([organisation, counts]) => [organisation, { ...counts }])),
  };
  const simulated: Shares = { ...shares, lastAdmissions: new Map(shares.lastAdmissions) };
  const order: AccessibilityScan[] = [];
  const most = Math.min(max, Math.ceil(COMPARISONS_MAX / Math.max(1, lines.size)));
  while (order.length < most) {
    const next = admitNext(lines, unlimited, simulated, { started: true });
    if (next === null) break;
    order.push(next.scan);
  }
  return order;
}

type Line = ReturnType<typeof createLine>;

/**
 * The waiting scans of one organisation, in the order in which they are admitted. Sorts only when the first scan is taken: while all
 * places are taken, lines are long and none is sorted.
 */
function createLine(scans: AccessibilityScan[]) {
  let sorted: AccessibilityScan[] | null = null;
  let taken = 0;
  const inOrder = () => (sorted ??= scans.toSorted(byPriority));
  return {
    get length(): number {
      return scans.length - taken;
    },
    /** The scan that is admitted next. Call it only if the line is not empty. */
    head: () => inOrder()[taken]!,
    take() {
      const head = inOrder()[taken]!;
      taken += 1;
      return head;
    },
    /** The scans that are left, in any order. */
    rest: (): readonly AccessibilityScan[] => (taken === 0 ? scans : inOrder().slice(taken)),
  };
}

function linesOf(scans: readonly AccessibilityScan[], organisationOf: (scan: AccessibilityScan) => string): Map<string, Line> {
  const groups = Map.groupBy(scans, organisationOf);
  return new Map([...groups].map(([organisation, own]) => [organisation, createLine(own)]));
}

function byPriority(a: AccessibilityScan, b: AccessibilityScan): number {
  return priorityOf(b) - priorityOf(a) || byCreation(a, b);
}

/**
 * Creation times are whole seconds in one format, so they compare as text. The uid gives scans of the same second a stable
 * order: nothing else that the API server sets tells them apart, and authors can write annotations.
 */
export function byCreation(a: AccessibilityScan, b: AccessibilityScan): number {
  return compare(a.metadata.creationTimestamp!, b.metadata.creationTimestamp!) || compare(a.metadata.uid!, b.metadata.uid!);
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
