/**
 * Sends the mails of the outbox. Each claim has a lease that is longer than any delivery, so that another replica
 * sends nothing twice. The exception: if this process dies after the server accepted a mail and before that is recorded, the
 * mail is sent again with the same Message-ID.
 */
import { domainOf } from '../../core/email-address.ts';
import type { Logger } from '../../platform/logger.ts';
import { type ClaimedMail, LANE_OF, MAIL_PRIORITIES, type MailFilter, type MailPriority, type Outbox } from '../../stores/outbox/outbox.ts';
import type { BounceKind, Suppression, Suppressions } from '../../stores/outbox/suppressions.ts';
import type { Clock } from '../../platform/clock.ts';
import type { PeriodicTask } from '../../platform/periodic.ts';
import { atLeast, pauseDelay, persistently, POLL_MS, retryDelay, runDeliveries } from './delivery-loop.ts';
import type { OutboxMetrics } from './metrics.ts';
import type { Delivery, MailServer, Message } from './smtp.ts';

/** Makes the message of a mail. `gone`: what it was about does not exist any more. */
export type Compose = (claim: ClaimedMail) => Promise<{ ok: true; message: Message } | { ok: false; reason: 'gone' }>;

export interface SenderDeps {
  outbox: Outbox;
  suppressions: Pick<Suppressions, 'find' | 'bounced' | 'lift'>;
  compose: Compose;
  openServer: (connections: number) => MailServer;
  metrics: OutboxMetrics;
  logger: Logger;
  clock: Clock;
  random?: () => number;
  /** The pause between two looks at the outbox, in milliseconds. Default 1,000. */
  pollMs?: number;
}

/** Longer than composing, the longest delivery, its check and all attempts to record it. */
export const CLAIM_LEASE_MS = 300_000;

/** State of a run. */
interface Term {
  deps: SenderDeps;
  transport: MailServer;
  /** Mails that were claimed. */
  claims: number;
  /** When sending resumes, by the monotonic clock. */
  pausedUntil: number;
  /** Failures of the mail server in a row. */
  failures: number;
}

/** Creates the task, which runs until it is stopped. */
export function createSenderTask(deps: SenderDeps): PeriodicTask {
  const { outbox, metrics, clock, pollMs } = deps;
  return {
    name: 'send mails',
    everyMs: POLL_MS,
    async run(signal) {
      const term: Term = { deps, transport: deps.openServer(CONCURRENCY), claims: 0, pausedUntil: 0, failures: 0 };
      const start = (inFlight: readonly InFlight[]) => startNext(term, inFlight);
      try {
        await runDeliveries(signal, {
          start,
          oldestDue: outbox.oldestDue,
          onOldestDue: (seconds) => metrics.oldestMail.set(seconds),
          clock,
          pollMs,
        });
      } finally {
        term.transport.close();
      }
    },
  };
}

/** Starts the delivery of a due mail. @returns null if none may start now */
async function startNext(term: Term, inFlight: readonly InFlight[]): Promise<{ about: InFlight; done: Promise<void> } | null> {
  const { outbox, clock } = term.deps;
  // After a failure of the server, one mail tries it.
  if (clock.monotonic() < term.pausedUntil || (term.failures > 0 && inFlight.length > 0)) return null;
  for (const filter of claimOrder(inFlight, term.claims)) {
    const claim = await outbox.claim({ leaseMs: CLAIM_LEASE_MS, ...filter });
    if (claim === null) continue;
    term.claims += 1;
    const { mail } = claim;
    const about = { lane: filter.lane, domain: domainOf(mail.to), organisation: mail.organisation };
    return { about, done: handle(term, claim) };
  }
  return null;
}

/** Sends one mail and records what became of it. Never throws: an error concerns only this mail. */
async function handle(term: Term, claim: ClaimedMail): Promise<void> {
  const { suppressions, compose, logger, clock } = term.deps;
  const { mail } = claim;
  try {
    const suppression = await suppressions.find(mail.to, LANE_OF[mail.kind]);
    if (suppression !== null) return await hold(term, claim, suppression);
    if ('expiresAt' in mail.data && Date.parse(mail.data.expiresAt) <= clock.now().getTime())
      return void (await fail(term, claim, 'its link expired'));
    const composed = await compose(claim);
    if (!composed.ok) return void (await fail(term, claim, composed.reason));
    await record(term, claim, await term.transport.send(composed.message));
  } catch (error) {
    // A store is down. If this cannot be recorded either, the lease ends by itself.
    logger.warn({ mail: mail.id, err: error }, 'mail not sent, retrying');
    await defer(term, claim, 'a store is unavailable').catch((err: unknown) =>
      logger.warn({ mail: mail.id, err }, 'mail not recorded, retrying when its lease ends'),
    );
  }
}

/** Keeps back a mail whose address is suppressed: until the end of the suppression, or for ever if that would be too late. */
async function hold(term: Term, claim: ClaimedMail, { reason, until }: Suppression): Promise<void> {
  const { outbox, logger, metrics } = term.deps;
  const { data, id, kind } = claim.mail;
  const end = 'expiresAt' in data ? Date.parse(data.expiresAt) : Infinity;
  const inTime = until !== null && end > until.getTime();
  if (LANE_OF[kind] !== 'public' && inTime) {
    logger.info({ mail: id, until: until.toISOString() }, 'mail waits, because its address bounced');
    return void (await outbox.retry(claim, until, reason));
  }
  metrics.suppressed.inc({ reason });
  await outbox.suppress(claim, reason);
}

async function record(term: Term, claim: ClaimedMail, delivery: Delivery): Promise<void> {
  const { outbox, suppressions, logger, metrics, clock } = term.deps;
  const { mail } = claim;
  if (delivery.ok) {
    term.failures = 0;
    metrics.mailAttempts.inc({ kind: mail.kind, outcome: 'sent' });
    logger.info({ mail: mail.id }, 'mail sent');
    await persistently(clock, () => outbox.sent(claim));
    await suppressions.lift(mail.to).catch((err: unknown) => logger.warn({ mail: mail.id, err }, 'bounce of a working address not lifted'));
    return;
  }
  const { failure, reason } = delivery;
  switch (failure) {
    case 'unavailable':
      return pause(term, claim, reason);
    case 'later':
      term.failures = 0;
      return defer(term, claim, reason);
    case 'bounced':
    case 'doubtful':
      term.failures = 0;
      metrics.bounces.inc();
      await suppressions.bounced(mail.to, BOUNCES[failure]);
      // People cannot sign in without it, and the refusal may be for another reason.
      if (failure === 'doubtful' && LANE_OF[mail.kind] !== 'public') return defer(term, claim, reason);
      return fail(term, claim, reason);
    case 'refused':
      term.failures = 0;
      return fail(term, claim, reason);
  }
}

const BOUNCES: Readonly<Record<'bounced' | 'doubtful', BounceKind>> = { bounced: 'certain', doubtful: 'doubtful' };

/** The mail waits for the server as if it had not been tried. */
async function pause(term: Term, claim: ClaimedMail, reason: string): Promise<void> {
  const { outbox, logger, metrics, clock, random = Math.random } = term.deps;
  metrics.mailAttempts.inc({ kind: claim.mail.kind, outcome: 'unavailable' });
  // Mails that were sent at the same time fail together.
  if (clock.monotonic() >= term.pausedUntil) {
    term.failures += 1;
    const delay = pauseDelay(term.failures, random());
    term.pausedUntil = clock.monotonic() + delay;
    logger.warn({ reason, seconds: Math.round(delay / 1000) }, 'mail server unavailable, sending paused');
  }
  await outbox.release(claim);
}

async function defer(term: Term, claim: ClaimedMail, reason: string): Promise<void> {
  const { outbox, metrics, clock, random = Math.random } = term.deps;
  const delay = retryDelay(claim.attempts, random());
  if (delay === null) return fail(term, claim, reason);
  metrics.mailAttempts.inc({ kind: claim.mail.kind, outcome: 'deferred' });
  await persistently(clock, () => outbox.retry(claim, new Date(clock.now().getTime() + delay), reason));
}

async function fail(term: Term, claim: ClaimedMail, reason: string): Promise<void> {
  const { outbox, logger, metrics, clock } = term.deps;
  metrics.mailAttempts.inc({ kind: claim.mail.kind, outcome: 'failed' });
  logger.warn({ mail: claim.mail.id, reason }, 'mail given up');
  await persistently(clock, () => outbox.fail(claim, reason));
}

/** Mails in delivery at the same time. */
export const CONCURRENCY = 8;
/**
 * The connections that a lane and the lanes below it may use together. The rest is left for lanes above, so that a link for a new
 * password never waits for results that slow servers take their time to accept.
 */
export const CONNECTIONS: Readonly<Record<MailPriority, number>> = { account: CONCURRENCY, organisation: 7, public: 5 };
/** Of one recipient's domain, so that a domain that answers slowly leaves connections for the others. Account mails may be one more. */
export const PER_DOMAIN = 2;
/** Of one organisation: one more than a domain that accepts nothing can hold up, so that its other mails leave meanwhile. */
export const PER_ORGANISATION = PER_DOMAIN + 1;
/** Each so many claims begin with the lowest lane, so that no lane starves. */
export const LOWEST_FIRST_EVERY = 4;

/** A mail in delivery. */
export interface InFlight {
  lane: MailPriority;
  /** The recipient's. */
  domain: string;
  organisation: string | undefined;
}

/**
 * Returns which mails to look for, the first ones first.
 * @param claims mails claimed so far
 */
export function claimOrder(inFlight: readonly InFlight[], claims: number): (MailFilter & { lane: MailPriority })[] {
  if (inFlight.length >= CONCURRENCY) return [];
  const lanes = claims % LOWEST_FIRST_EVERY === LOWEST_FIRST_EVERY - 1 ? MAIL_PRIORITIES.toReversed() : MAIL_PRIORITIES;
  return lanes.filter((lane) => hasConnection(inFlight, lane)).flatMap((lane) => filtersOf(inFlight, lane));
}

function hasConnection(inFlight: readonly InFlight[], lane: MailPriority): boolean {
  const rank = MAIL_PRIORITIES.indexOf(lane);
  return inFlight.filter((mail) => MAIL_PRIORITIES.indexOf(mail.lane) >= rank).length < CONNECTIONS[lane];
}

function filtersOf(inFlight: readonly InFlight[], lane: MailPriority): (MailFilter & { lane: MailPriority })[] {
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
