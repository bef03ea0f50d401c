/** The order in which waiting scans will be admitted, for the positions that the API shows. Pure. */
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { admitNext, type Shares } from './fair-share.ts';
import type { Line } from './line.ts';
import type { Places } from './places.ts';

/** The operator does nothing else meanwhile, so it must end within some milliseconds. */
const COMPARISONS_MAX = 200_000;

export interface WaitingFacts {
  /** The waiting scans. They are consumed. */
  lines: ReadonlyMap<string, Line>;
  places: Places;
  shares: Shares;
  /** The number of scans to return at most. Fewer if so many organisations wait that it would take long. */
  max: number;
}

/** The order in which the queue would admit the scans if it had a place for each of them. */
export function waitingOrder({ lines, places, shares, max }: WaitingFacts): AccessibilityScan[] {
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
