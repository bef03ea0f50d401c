/** Which delivery is sent next. Pure. */
import type { DeliveryFilter } from '../../stores/webhooks/deliveries.ts';
import { atLeast } from '../at-least.ts';

/** Deliveries under way at the same time. */
export const CONCURRENCY = 32;
/** Of endpoints that fail, all together: each may take the whole time limit, and the rest is left for endpoints that work. */
export const SLOW_MAX = 16;
export const PER_WEBHOOK = 2;
export const PER_ORGANISATION = 4;
/** Each so many claims begin with the endpoints that fail, so that they are tried even while the others need every connection. */
const SLOW_FIRST_EVERY = 4;

/** A delivery under way. */
export interface InFlight {
  webhook: string;
  organisation: string;
  slow: boolean;
}

/**
 * Returns which deliveries to look for, the first ones first.
 * @param claims deliveries claimed so far
 */
export function claimOrder(inFlight: readonly InFlight[], claims: number): DeliveryFilter[] {
  if (inFlight.length >= CONCURRENCY) return [];
  const slowHasRoom = inFlight.filter(({ slow }) => slow).length < SLOW_MAX;
  const lanes = !slowHasRoom ? [false] : claims % SLOW_FIRST_EVERY === SLOW_FIRST_EVERY - 1 ? [true, false] : [false, true];
  const webhooks = inFlight.map(({ webhook }) => webhook);
  const organisations = inFlight.map(({ organisation }) => organisation);
  // Those without a delivery under way come first, so that one with very many deliveries does not delay another one's only one.
  const shares = [
    { webhook: 1, organisation: 1 },
    { webhook: PER_WEBHOOK, organisation: PER_ORGANISATION },
  ];
  return lanes.flatMap((slow) =>
    shares.map((share) => ({
      slow,
      exceptWebhooks: atLeast(share.webhook, webhooks),
      exceptOrganisations: atLeast(share.organisation, organisations),
    })),
  );
}
