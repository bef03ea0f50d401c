/** Which delivery is sent next. Pure. */
import type { DeliveryFilter } from '../../stores/webhooks/deliveries.ts';
import { atLeast } from './at-least.ts';

/** Deliveries under way at the same time. */
export const CONCURRENCY = 32;
/** Of endpoints that fail, all together: each may take the whole time limit, and the rest is left for endpoints that work. */
export const FAILING_MAX = 16;
/** Of an endpoint that fails, and of one that works. */
const PER_FAILING = 1;
export const PER_WEBHOOK = 2;
export const PER_ORGANISATION = 4;
/** Each so many claims begin with the endpoints that fail, so that they are tried even while the others need every connection. */
const FAILING_FIRST_EVERY = 4;

/** How many of them are known. One that is forgotten costs an attempt. */
export const FAILING_KNOWN_MAX = 10_000;

/** A delivery under way. */
export interface InFlight {
  webhook: string;
  organisation: string;
}

/**
 * Returns which deliveries to look for, the first ones first.
 * @param failing the endpoints whose last attempt failed, the one that was not tried for the longest time first
 * @param claims deliveries claimed so far
 */
export function claimOrder(inFlight: readonly InFlight[], failing: ReadonlySet<string>, claims: number): DeliveryFilter[] {
  if (inFlight.length >= CONCURRENCY) return [];
  const busy = inFlight.map(({ webhook }) => webhook);
  const organisations = inFlight.map(({ organisation }) => organisation);
  // Those without a delivery under way come first, so that one with very many deliveries does not delay another one's only one.
  const shares = [
    { webhook: 1, organisation: 1 },
    { webhook: PER_WEBHOOK, organisation: PER_ORGANISATION },
  ];
  const working = shares.map((share) => ({
    exceptWebhooks: [...new Set([...failing, ...atLeast(share.webhook, busy)])],
    exceptOrganisations: atLeast(share.organisation, organisations),
  }));
  const hasRoom = failing.size > 0 && busy.filter((webhook) => failing.has(webhook)).length < FAILING_MAX;
  const others = shares.map(({ organisation }) => ({
    onlyWebhooks: [...failing],
    exceptWebhooks: atLeast(PER_FAILING, busy),
    exceptOrganisations: atLeast(organisation, organisations),
  }));
  if (!hasRoom) return working;
  return claims % FAILING_FIRST_EVERY === FAILING_FIRST_EVERY - 1 ? [...others, ...working] : [...working, ...others];
}

/** Records that an attempt of an endpoint failed: it is the last one that is tried again. */
export function addFailing(failing: Set<string>, webhook: string): void {
  failing.delete(webhook);
  failing.add(webhook);
  // Those that were deleted are not tried any more, so that they are forgotten first.
  const [first] = failing;
  if (failing.size > FAILING_KNOWN_MAX) failing.delete(first!);
}
