/**
 * Sends the deliveries of webhooks. Each claim has a lease that is longer than any attempt, so that another replica
 * repeats none that is under way. If this process dies, the delivery is tried again when its lease has ended.
 */
import { WEBHOOKS_PATH } from '../../core/web-paths.ts';
import { signedHeaders } from '../../core/webhooks/signature.ts';
import { hostOf } from '../../core/webhooks/webhooks.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Logger } from '../../platform/logger.ts';
import type { AllStores } from '../../stores/stores.ts';
import type { ClaimedDelivery, DeliveryFilter } from '../../stores/outbox/deliveries.ts';
import { isStopped, type SendableWebhook } from '../../stores/webhooks/webhooks.ts';
import type { PeriodicTask } from '../../platform/periodic.ts';
import { atLeast, isLate, nextAttempt, persistently, POLL_MS, runDeliveries } from './delivery-loop.ts';
import type { OutboxMetrics } from './metrics.ts';
import type { Post, Posted } from './post.ts';

export interface WebhookSenderDeps {
  stores: Pick<AllStores, 'webhooks' | 'deliveries' | 'members' | 'organisations' | 'outbox'>;
  post: Post;
  /** Whether the owners of an organisation get a mail when its webhook is stopped. */
  mailed: boolean;
  metrics: OutboxMetrics;
  logger: Logger;
  clock: Clock;
  random?: () => number;
  /** The pause between two looks at the queue, in milliseconds. Default 1,000. */
  pollMs?: number;
  /** Default: `LEASE_MS`. */
  leaseMs?: number;
  /** Default: `nextAttempt`. */
  nextAttempt?: typeof nextAttempt;
}

/** Longer than an attempt with the resolution of its name, and all attempts to record it. */
const LEASE_MS = 120_000;
const GONE = 410;

/** Creates the task, which runs until it is stopped. */
export function createWebhookSender(deps: WebhookSenderDeps): PeriodicTask {
  const { metrics, clock, pollMs, leaseMs = LEASE_MS } = deps;
  const { deliveries } = deps.stores;
  let claims = 0;
  // The one that was not tried for the longest time first. Each replica learns them: it costs one attempt of each endpoint.
  const failing = new Set<string>();
  async function start(inFlight: readonly InFlight[]): Promise<{ about: InFlight; done: Promise<void> } | null> {
    for (const filter of claimOrder(inFlight, failing, claims)) {
      const claim = await deliveries.claim(filter, leaseMs);
      if (claim === null) continue;
      claims += 1;
      const { webhook, organisation } = claim.delivery;
      return { about: { webhook, organisation }, done: handle(deps, claim, failing) };
    }
    return null;
  }
  return {
    name: 'send webhooks',
    everyMs: POLL_MS,
    run: (signal) =>
      runDeliveries(signal, {
        start,
        oldestDue: deliveries.oldestDue,
        onOldestDue: (seconds) => metrics.oldestWebhook.set(seconds),
        clock,
        pollMs,
      }),
  };
}

/** Tries one delivery and records what became of it. Never throws: an error concerns only this delivery, whose lease ends by itself. */
async function handle(deps: WebhookSenderDeps, claim: ClaimedDelivery, failing: Set<string>): Promise<void> {
  const { post, metrics, logger, clock } = deps;
  const { webhooks, deliveries } = deps.stores;
  const { id, webhook: webhookId, message, body } = claim.delivery;
  try {
    const webhook = await webhooks.sendable(webhookId);
    if (webhook === null || webhook.disabled !== null) {
      failing.delete(webhookId);
      return void (await deliveries.withdraw(claim));
    }
    // The sender was off or down for days. What the endpoint would get is of no use any more.
    if (isLate(claim.delivery.createdAt, clock.now()))
      return void (await deliveries.withdraw(claim, claim.attempt > 1 ? 'failed' : 'canceled'));
    const headers = signedHeaders({ id: message, at: clock.now(), body }, webhook.secrets);
    const posted = await post(webhook.url, headers, body);
    metrics.webhookAttempts.inc({ outcome: posted.outcome });
    const fields = { delivery: id, webhook: webhookId, organisation: webhook.organisation, status: posted.attempt.statusCode };
    logger.debug(
      { ...fields, reason: posted.attempt.error },
      posted.outcome === 'delivered' ? 'webhook delivered' : 'webhook not delivered',
    );
    if (posted.outcome === 'delivered') {
      failing.delete(webhookId);
      await succeed(deps, claim, webhook, posted);
    } else {
      addFailing(failing, webhookId);
      if (await fail(deps, claim, webhook, posted)) failing.delete(webhookId);
    }
  } catch (err) {
    logger.warn({ delivery: id, webhook: webhookId, err }, 'webhook not recorded, retrying when its lease ends');
  }
}

async function succeed(
  { stores: { webhooks, deliveries }, clock }: WebhookSenderDeps,
  claim: ClaimedDelivery,
  webhook: SendableWebhook,
  { attempt }: Posted,
): Promise<void> {
  await persistently(clock, () => deliveries.end(claim, 'delivered', attempt));
  if (webhook.failingSince !== null) await webhooks.succeeded(webhook.id);
}

/** @returns whether the endpoint gets nothing more */
async function fail(deps: WebhookSenderDeps, claim: ClaimedDelivery, webhook: SendableWebhook, { attempt }: Posted): Promise<boolean> {
  const { clock, random = Math.random } = deps;
  const { webhooks, deliveries } = deps.stores;
  const now = clock.now();
  const gone = attempt.statusCode === GONE;
  const next = gone ? null : (deps.nextAttempt ?? nextAttempt)(claim.attempt, claim.delivery.createdAt, now, random());
  await persistently(clock, () => (next === null ? deliveries.end(claim, 'failed', attempt) : deliveries.retry(claim, next, attempt)));
  const since = await webhooks.failed(webhook.id, now);
  return (gone || isStopped(since, now)) && stop(deps, webhook, gone ? 'gone' : 'failing', since);
}

/**
 * Disables an endpoint. The mail first: after a crash in between, the next failure repeats both, and the mail is stored once.
 * @returns whether the endpoint gets nothing more
 */
async function stop(deps: WebhookSenderDeps, webhook: SendableWebhook, reason: 'gone' | 'failing', since: Date): Promise<boolean> {
  const { metrics, logger } = deps;
  const { webhooks, deliveries } = deps.stores;
  // Somebody may have deleted, disabled or moved it during the request.
  const current = await webhooks.sendable(webhook.id);
  if (current === null || current.disabled !== null) return true;
  if (current.url !== webhook.url) return false;
  if (deps.mailed) await notifyStopped(deps.stores, webhook, reason, since);
  if (!(await webhooks.stop(webhook.id, reason))) return true;
  metrics.stopped.inc({ reason });
  logger.info({ webhook: webhook.id, organisation: webhook.organisation, reason }, 'webhook disabled');
  await deliveries.cancelAll(webhook.id);
  return true;
}

/** Mails the owners of the organisation. Without a mail server, the dashboard, the API and the metrics show what happened. */
async function notifyStopped(
  { members, organisations, outbox }: WebhookSenderDeps['stores'],
  { id, organisation, name, url }: SendableWebhook,
  reason: 'gone' | 'failing',
  since: Date,
): Promise<void> {
  const { displayName = organisation } = (await organisations.find(organisation)) ?? {};
  const owners = (await members.list(organisation)).filter(({ role }) => role === 'owner');
  const about = { organisation: displayName, webhook: name, host: hostOf({ url }), path: `${WEBHOOKS_PATH}/${id}` };
  for (const { email: to } of owners)
    await outbox.enqueue({
      id: `webhook-stopped:${id}:${since.getTime()}:${to}`,
      kind: 'webhook_stopped',
      to,
      locale: 'en',
      organisation,
      data: { ...about, reason, since: since.toISOString() },
    });
}

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
