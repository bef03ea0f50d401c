/**
 * Sends the mails of the outbox. Each claim has a lease that is longer than any delivery, so that an operator that takes over
 * sends nothing twice. The exception: if this process dies after the server accepted a mail and before that is recorded, the
 * mail is sent again with the same Message-ID.
 */
import type { Logger } from '../../platform/logger.ts';
import { domainOf, type ClaimedMail, type Outbox } from '../../stores/mail/outbox.ts';
import type { Suppressions } from '../../stores/mail/suppressions.ts';
import { sleep, type Clock } from '../runtime/clock.ts';
import type { PeriodicTask } from '../runtime/manager.ts';
import { pauseDelay, retryDelay } from './back-off.ts';
import type { MailMetrics } from './metrics.ts';
import type { Delivery, MailTransport, Message } from './transport.ts';

/** Makes the message of a mail. `gone`: what it was about does not exist any more. */
export type Compose = (claim: ClaimedMail) => Promise<{ ok: true; message: Message } | { ok: false; reason: 'gone' }>;

export interface SenderDeps {
  outbox: Outbox;
  suppressions: Pick<Suppressions, 'find' | 'bounced'>;
  compose: Compose;
  openTransport: (connections: number) => MailTransport;
  metrics: MailMetrics;
  logger: Logger;
  clock: Clock;
  random?: () => number;
  /** The pause between two looks at the outbox, in milliseconds. Default 1,000. */
  pollMs?: number;
}

/** Mails in delivery at the same time. */
export const CONCURRENCY = 8;
/** Of one recipient's domain, so that a domain that answers slowly leaves connections for the others. */
export const PER_DOMAIN = 2;
/** Longer than composing, the longest delivery, its check and all attempts to record it. */
export const CLAIM_LEASE_MS = 300_000;
const POLL_MS = 1_000;
const GAUGE_EVERY_MS = 10_000;
/** How long a stopping operator waits for deliveries. Their leases end by themselves. */
const DRAIN_MS = 15_000;
/** How often, and after which pauses, a delivery is recorded while the database is down. */
export const RECORD_ATTEMPTS = 10;
export const RECORD_PAUSE_MS = 2_000;

/** State of one term as the leader. */
interface Term {
  deps: SenderDeps;
  transport: MailTransport;
  inFlight: Map<Promise<void>, string>;
  /** When sending resumes, by the monotonic clock. */
  pausedUntil: number;
  /** Failures of the mail server in a row. */
  failures: number;
}

/** Creates the leader's task, which runs until it is stopped. */
export function createSenderTask(deps: SenderDeps): PeriodicTask {
  return {
    name: 'send mails',
    everyMs: POLL_MS,
    async run(signal) {
      const term: Term = { deps, transport: deps.openTransport(CONCURRENCY), inFlight: new Map(), pausedUntil: 0, failures: 0 };
      try {
        await sendUntil(term, signal);
      } finally {
        await Promise.race([Promise.all(term.inFlight.keys()), sleep(deps.clock, DRAIN_MS)]);
        term.transport.close();
      }
    },
  };
}

async function sendUntil(term: Term, signal: AbortSignal): Promise<void> {
  const { outbox, clock, metrics, pollMs = POLL_MS } = term.deps;
  let gaugeAt = clock.monotonic();
  while (!signal.aborted) {
    if (clock.monotonic() >= gaugeAt) {
      gaugeAt = clock.monotonic() + GAUGE_EVERY_MS;
      const oldest = await outbox.oldestDue();
      metrics.oldestDue(oldest === null ? 0 : Math.max(0, (clock.now() - oldest.getTime()) / 1000));
    }
    while (await startNext(term, signal));
    await Promise.race([sleep(clock, pollMs, signal), ...term.inFlight.keys()]);
  }
}

/** Starts the delivery of a due mail. @returns false if none may start now */
async function startNext(term: Term, signal: AbortSignal): Promise<boolean> {
  const { outbox, clock } = term.deps;
  // After a failure of the server, one mail tries it.
  const limit = term.failures > 0 ? 1 : CONCURRENCY;
  if (signal.aborted || term.inFlight.size >= limit || clock.monotonic() < term.pausedUntil) return false;
  const domains = [...term.inFlight.values()];
  const exceptDomains = [...new Set(domains)].filter((domain) => domains.filter((one) => one === domain).length >= PER_DOMAIN);
  const claim = await outbox.claim({ leaseMs: CLAIM_LEASE_MS, exceptDomains });
  if (claim === null) return false;
  const delivery = handle(term, claim).finally(() => term.inFlight.delete(delivery));
  term.inFlight.set(delivery, domainOf(claim.mail.to));
  return true;
}

/** Sends one mail and records what became of it. Never throws: an error concerns only this mail. */
async function handle(term: Term, claim: ClaimedMail): Promise<void> {
  const { outbox, suppressions, compose, logger, metrics, clock } = term.deps;
  const { mail } = claim;
  try {
    const suppression = await suppressions.find(mail.to);
    // Someone who wants no results of public scans still gets the link for a new password.
    if (suppression === 'bounced' || (suppression === 'unsubscribed' && mail.kind === 'scan_result')) {
      metrics.suppressed(suppression);
      await outbox.suppress(claim, suppression);
      return;
    }
    if ('expiresAt' in mail.data && Date.parse(mail.data.expiresAt) <= clock.now())
      return void (await fail(term, claim, 'its link expired'));
    const composed = await compose(claim);
    if (!composed.ok) return void (await fail(term, claim, composed.reason));
    await record(term, claim, await term.transport.send(composed.message));
  } catch (error) {
    // A store is down. If this cannot be recorded either, the lease ends by itself.
    logger.warn({ mail: mail.id, err: error }, 'mail not sent, retrying');
    await defer(term, claim, 'a dependency of the operator is unavailable').catch((err: unknown) =>
      logger.warn({ mail: mail.id, err }, 'mail not recorded, retrying when its lease ends'),
    );
  }
}

async function record(term: Term, claim: ClaimedMail, delivery: Delivery): Promise<void> {
  const { outbox, suppressions, logger, metrics, clock } = term.deps;
  const { mail } = claim;
  if (delivery.ok) {
    term.failures = 0;
    metrics.attempted(mail.kind, 'sent');
    logger.info({ mail: mail.id }, 'mail sent');
    return void (await persistently(clock, () => outbox.sent(claim)));
  }
  const { failure, reason } = delivery;
  switch (failure) {
    case 'unavailable':
      return pause(term, claim, reason);
    case 'later':
      term.failures = 0;
      return defer(term, claim, reason);
    case 'bounced':
      term.failures = 0;
      metrics.bounced();
      await suppressions.bounced(mail.to);
      return fail(term, claim, reason);
    case 'refused':
      term.failures = 0;
      return fail(term, claim, reason);
  }
}

/** The mail waits for the server as if it had not been tried. */
async function pause(term: Term, claim: ClaimedMail, reason: string): Promise<void> {
  const { outbox, logger, metrics, clock, random = Math.random } = term.deps;
  metrics.attempted(claim.mail.kind, 'unavailable');
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
  metrics.attempted(claim.mail.kind, 'deferred');
  await persistently(clock, () => outbox.retry(claim, new Date(clock.now() + delay), reason));
}

async function fail(term: Term, claim: ClaimedMail, reason: string): Promise<void> {
  const { outbox, logger, metrics, clock } = term.deps;
  metrics.attempted(claim.mail.kind, 'failed');
  logger.warn({ mail: claim.mail.id, reason }, 'mail given up');
  await persistently(clock, () => outbox.fail(claim, reason));
}

/** Tries again while the database is down, because a mail whose delivery is not recorded is sent twice. */
async function persistently<T>(clock: Clock, operation: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await operation();
    } catch (error) {
      if (attempt === RECORD_ATTEMPTS) throw error;
      await sleep(clock, RECORD_PAUSE_MS);
    }
  }
}
