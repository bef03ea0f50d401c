/** The order in which waiting scans will be admitted, for the positions that the API shows. Pure. */
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { admitNext, type Shares } from './fair-share.ts';
import type { Line } from './line.ts';
import { noPlaces, returnPlace, takePlace, type Limits, type Places } from './places.ts';

/** The operator does nothing else during a simulation, so it must end within some milliseconds. */
const COMPARISONS_MAX = 200_000;

export interface WaitingFacts {
  /** The waiting scans. They are consumed. */
  lines: ReadonlyMap<string, Line>;
  places: Places;
  shares: Shares;
  /** The queue's limits. A paused queue is simulated as if it were resumed. */
  limits: Limits;
  /** The number of scans to return at most. Fewer if so many organisations wait that the simulation would take long. */
  max: number;
}

/**
 * Simulates admissions: scans start at once, and whenever no scan may be admitted, the one that was admitted first ends.
 * Scans that run now are taken to end evenly between organisations, because their remaining time is unknown.
 */
export function waitingOrder({ lines, places, shares, limits, max }: WaitingFacts): AccessibilityScan[] {
  const running = started(places, limits);
  const ending = interleave(places);
  const simulated: Shares = { ...shares, lastAdmissions: new Map(shares.lastAdmissions) };
  const order: AccessibilityScan[] = [];
  const most = Math.min(max, Math.ceil(COMPARISONS_MAX / Math.max(1, lines.size)));
  for (let ended = 0; order.length < most;) {
    const next = admitNext(lines, running, simulated, { started: true });
    if (next !== null) {
      order.push(next.scan);
      ending.push(next.organisation);
    } else if (ended < ending.length) {
      returnPlace(running, ending[ended]!);
      ended += 1;
    } else return order;
  }
  return order;
}

/** The places if every running scan had started: the limit of starting scans delays scans and does not reorder them for long. */
function started({ organisations }: Places, limits: Limits): Places {
  const places = noPlaces(limits);
  for (const [organisation, { running }] of organisations)
    for (let count = 0; count < running; count += 1) takePlace(places, organisation, true);
  return places;
}

/** Each running scan as its organisation, in turns. */
function interleave({ organisations }: Places): string[] {
  const turns: string[] = [];
  const most = Math.max(0, ...[...organisations.values()].map(({ running }) => running));
  for (let turn = 0; turn < most; turn += 1)
    for (const [organisation, { running }] of organisations) if (running > turn) turns.push(organisation);
  return turns;
}
