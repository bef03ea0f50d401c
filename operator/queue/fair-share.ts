/** Decides which organisation gets the next free place. Pure. */
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { byCreation, type Line } from './line.ts';
import { hasPlace, runningOf, takePlace, type Places } from './places.ts';

/** The weight of organisations that a ScanQueue does not list. */
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
 * running scans for its weight comes first, then the one whose last admission is the longest ago, so that a long line does not
 * take every place of a small queue, then the one whose next scan is the oldest. Priorities have no say: an author could
 * overtake others by writing a number.
 */
function nextOrganisation(lines: ReadonlyMap<string, Line>, places: Places, { weights, lastAdmissions }: Shares): string | null {
  if (places.running >= places.limits.maxRunning) return null;
  // Without an object for each organisation, because there may be thousands.
  let next: { organisation: string; line: Line } | null = null;
  let [fewest, nextWeight, longestAgo] = [0, 1, 0];
  for (const [organisation, line] of lines) {
    if (line.length === 0 || !hasPlace(places, organisation)) continue;
    const running = runningOf(places, organisation);
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
