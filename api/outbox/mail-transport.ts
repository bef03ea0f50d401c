/**
 * Sends mails. If this process dies after the server accepted a mail and before that is recorded, the mail is sent again with the same
 * Message-ID.
 */
import type { MailEntry } from '../../stores/outbox/entries.ts';
import { MAIL_PRIORITIES, type MailPriority } from '../../stores/outbox/mails.ts';
import type { ClaimFilter } from '../../stores/outbox/outbox.ts';
import type { Suppression } from '../../stores/outbox/suppressions.ts';
import { atLeast, deliver, doublingDelay, type Answer, type DeliveryContext, type InFlight, type Transport } from './delivery-loop.ts';
import type { MailServer, Message } from './smtp.ts';

export interface MailContext extends DeliveryContext {
  /** Makes the message of a mail. Null: what it was about does not exist any more. */
  compose: (mail: MailEntry) => Promise<Message | null>;
  openServer: (connections: number) => MailServer;
}

/** Longer than composing, the longest delivery, its check and all attempts to record it. */
export const CLAIM_LEASE_MS = 300_000;

const RETRY = { firstMs: 60_000, longestMs: 4 * 3_600_000 };
/** The delays between these attempts add up to about a day. */
export const ATTEMPTS_MAX = 13;
const PAUSE = { firstMs: 5_000, longestMs: 300_000 };

/** Returns the delay before the next attempt in milliseconds, or null if the mail is given up. @param random from 0 to 1 */
export const retryDelay = (attempts: number, random: number): number | null =>
  attempts >= ATTEMPTS_MAX ? null : doublingDelay(attempts, RETRY, random);

/** Returns how long nothing is sent after failures of the mail server in a row, in milliseconds. @param random from 0 to 1 */
export const pauseDelay = (failures: number, random: number): number => doublingDelay(failures, PAUSE, random);

/** Runs until the signal aborts. @throws if the outbox cannot be read */
export async function sendMails(context: MailContext, signal: AbortSignal): Promise<void> {
  const server = context.openServer(CONCURRENCY);
  try {
    await deliver(createTransport(context, server), context, signal);
  } finally {
    server.close();
  }
}

function createTransport(
  { stores: { suppressions }, compose, metrics, logger, clock, random = Math.random }: MailContext,
  server: MailServer,
): Transport<MailEntry> {
  /** Failures of the mail server in a row, and when sending resumes, by the monotonic clock. */
  let [failures, pausedUntil] = [0, 0];

  function giveUp({ _id: mail, kind }: MailEntry, reason: string): Answer {
    metrics.mailAttempts.inc({ kind, outcome: 'failed' });
    logger.warn({ mail, reason }, 'mail given up');
    return { is: 'ended', state: 'failed', attempt: { error: reason } };
  }

  function defer(mail: MailEntry, reason: string): Answer {
    const delay = retryDelay(mail.attempts, random());
    if (delay === null) return giveUp(mail, reason);
    metrics.mailAttempts.inc({ kind: mail.kind, outcome: 'deferred' });
    return { is: 'retry', at: new Date(clock.now().getTime() + delay), attempt: { error: reason } };
  }

  /** Keeps back a mail whose address is suppressed: until the end of the suppression, or for ever if that would be too late. */
  function hold(mail: MailEntry, { reason, until }: Suppression): Answer {
    if (mail.priority !== 'public' && until !== null && expiryOf(mail) > until.getTime()) {
      logger.info({ mail: mail._id, until: until.toISOString() }, 'mail waits, because its address bounced');
      return { is: 'retry', at: until, attempt: { error: reason } };
    }
    metrics.suppressed.inc({ reason });
    return { is: 'ended', state: 'suppressed', attempt: { error: reason } };
  }

  /** The mail waits for the server as if it had not been tried. */
  function pause({ kind }: MailEntry, reason: string): Answer {
    metrics.mailAttempts.inc({ kind, outcome: 'unavailable' });
    // Mails that were sent at the same time fail together.
    if (clock.monotonic() >= pausedUntil) {
      failures += 1;
      const delay = pauseDelay(failures, random());
      pausedUntil = clock.monotonic() + delay;
      logger.warn({ reason, seconds: Math.round(delay / 1000) }, 'mail server unavailable, sending paused');
    }
    return { is: 'released' };
  }

  async function send(mail: MailEntry): Promise<Answer> {
    const suppression = await suppressions.find(mail.to, mail.priority);
    if (suppression !== null) return hold(mail, suppression);
    if (expiryOf(mail) <= clock.now().getTime()) return giveUp(mail, 'it expired');
    const message = await compose(mail);
    if (message === null) return giveUp(mail, 'gone');
    const sent = await server.send(message);
    if (!sent.ok && sent.failure === 'unavailable') return pause(mail, sent.reason);
    failures = 0;
    if (sent.ok) {
      metrics.mailAttempts.inc({ kind: mail.kind, outcome: 'sent' });
      logger.info({ mail: mail._id }, 'mail sent');
      const afterwards = () =>
        suppressions.lift(mail.to).catch((err: unknown) => logger.warn({ mail: mail._id, err }, 'bounce of a working address not lifted'));
      return { is: 'ended', state: 'delivered', attempt: {}, afterwards };
    }
    const { failure, reason } = sent;
    if (failure === 'later') return defer(mail, reason);
    if (failure === 'refused') return giveUp(mail, reason);
    metrics.bounces.inc();
    await suppressions.bounced(mail.to, failure === 'bounced' ? 'certain' : 'doubtful');
    // People cannot sign in without it, and the refusal may be for another reason.
    return failure === 'doubtful' && mail.priority !== 'public' ? defer(mail, reason) : giveUp(mail, reason);
  }

  return {
    priorities: MAIL_PRIORITIES,
    leaseMs: CLAIM_LEASE_MS,
    // After a failure of the server, one mail tries it.
    claimOrder: (inFlight, claims) =>
      clock.monotonic() < pausedUntil || (failures > 0 && inFlight.length > 0) ? [] : claimOrder(inFlight, claims),
    send: (mail) =>
      send(mail).catch((err: unknown) => {
        logger.warn({ mail: mail._id, err }, 'mail not sent, retrying');
        return defer(mail, 'a store is unavailable');
      }),
    oldestDue: metrics.oldestMail,
  };
}

/** When a mail, or the link in it, is of no use any more. */
const expiryOf = ({ data }: MailEntry): number => ('expiresAt' in data ? Date.parse(data.expiresAt) : Infinity);

/** Mails in delivery at the same time. */
export const CONCURRENCY = 8;
/**
 * The connections that mails of a priority and of those below it may use together. The rest is left for those above, so that a link for a new
 * password never waits for results that slow servers take their time to accept.
 */
export const CONNECTIONS: Readonly<Record<MailPriority, number>> = { account: CONCURRENCY, organisation: 7, public: 5 };
/** Of one recipient's domain, so that a domain that answers slowly leaves connections for the others. Account mails may be one more. */
export const PER_DOMAIN = 2;
/** Of one organisation: one more than a domain that accepts nothing can hold up, so that its other mails leave meanwhile. */
export const PER_ORGANISATION = PER_DOMAIN + 1;
/** Each so many claims begin with the lowest priority, so that none starves. */
export const LOWEST_FIRST_EVERY = 4;

/**
 * Returns which mails to look for, the first ones first.
 * @param claims mails claimed so far
 */
export function claimOrder(inFlight: readonly InFlight[], claims: number): ClaimFilter[] {
  if (inFlight.length >= CONCURRENCY) return [];
  const order = claims % LOWEST_FIRST_EVERY === LOWEST_FIRST_EVERY - 1 ? MAIL_PRIORITIES.toReversed() : MAIL_PRIORITIES;
  return order.filter((priority) => hasConnection(inFlight, priority)).flatMap((priority) => filtersOf(inFlight, priority));
}

function hasConnection(inFlight: readonly InFlight[], priority: MailPriority): boolean {
  const below: readonly string[] = MAIL_PRIORITIES.slice(MAIL_PRIORITIES.indexOf(priority));
  return inFlight.filter((mail) => below.includes(mail.priority)).length < CONNECTIONS[priority];
}

function filtersOf(inFlight: readonly InFlight[], priority: MailPriority): ClaimFilter[] {
  const perDomain = priority === 'account' ? PER_DOMAIN + 1 : PER_DOMAIN;
  const exceptKeys = atLeast(perDomain, inFlight.map(({ fairnessKey }) => fairnessKey)); // prettier-ignore
  if (priority !== 'organisation') return [{ priority, exceptKeys }];
  const organisations = inFlight.flatMap(({ organisation }) => organisation ?? []);
  // Organisations without a mail in delivery come first, so that one with very many mails does not delay another one's only mail.
  return [1, PER_ORGANISATION].map((share) => ({ priority, exceptKeys, exceptOrganisations: atLeast(share, organisations) }));
}
