/** Which mail is delivered next. Pure. */
import { atLeast } from './at-least.ts';
import { MAIL_LANES, type MailFilter, type MailLane } from '../../stores/mail/outbox.ts';

/** Mails in delivery at the same time. */
export const CONCURRENCY = 8;
/**
 * The connections that a lane and the lanes below it may use together. The rest is left for lanes above, so that a link for a new
 * password never waits for results that slow servers take their time to accept.
 */
export const CONNECTIONS: Readonly<Record<MailLane, number>> = { account: CONCURRENCY, organisation: 7, public: 5 };
/** Of one recipient's domain, so that a domain that answers slowly leaves connections for the others. Account mails may be one more. */
export const PER_DOMAIN = 2;
/** Of one organisation: one more than a domain that accepts nothing can hold up, so that its other mails leave meanwhile. */
export const PER_ORGANISATION = PER_DOMAIN + 1;
/** Each so many claims begin with the lowest lane, so that no lane starves. */
export const LOWEST_FIRST_EVERY = 4;

/** A mail in delivery. */
export interface InFlight {
  lane: MailLane;
  /** The recipient's. */
  domain: string;
  organisation: string | undefined;
}

/**
 * Returns which mails to look for, the first ones first.
 * @param claims mails claimed so far
 */
export function claimOrder(inFlight: readonly InFlight[], claims: number): (MailFilter & { lane: MailLane })[] {
  if (inFlight.length >= CONCURRENCY) return [];
  const lanes = claims % LOWEST_FIRST_EVERY === LOWEST_FIRST_EVERY - 1 ? MAIL_LANES.toReversed() : MAIL_LANES;
  return lanes.filter((lane) => hasConnection(inFlight, lane)).flatMap((lane) => filtersOf(inFlight, lane));
}

function hasConnection(inFlight: readonly InFlight[], lane: MailLane): boolean {
  const rank = MAIL_LANES.indexOf(lane);
  return inFlight.filter((mail) => MAIL_LANES.indexOf(mail.lane) >= rank).length < CONNECTIONS[lane];
}

function filtersOf(inFlight: readonly InFlight[], lane: MailLane): (MailFilter & { lane: MailLane })[] {
  const perDomain = lane === 'account' ? PER_DOMAIN + 1 : PER_DOMAIN;
  const exceptDomains = atLeast(perDomain, inFlight.map(({ domain }) => domain)); // prettier-ignore
  if (lane !== 'organisation') return [{ lane, exceptDomains }];
  const organisations = inFlight.flatMap(({ organisation }) => organisation ?? []);
  // Organisations without a mail in delivery come first, so that one with very many mails does not delay another one's only mail.
  return [1, PER_ORGANISATION].map((share) => ({
    lane,
    exceptDomains,
    exceptOrganisations: atLeast(share, organisations),
  }));
}
