/** Sends deliveries of webhooks. */
import { WEBHOOKS_PATH } from '../../core/web-paths.ts';
import { signedHeaders } from '../../core/webhooks/signature.ts';
import { hostOf, RETRIED_FOR_MS } from '../../core/webhooks/webhooks.ts';
import type { DeliveryEntry } from '../../stores/outbox/entries.ts';
import type { ClaimFilter } from '../../stores/outbox/outbox.ts';
import { isStopped, type SendableWebhook } from '../../stores/webhooks/webhooks.ts';
import { atLeast, doublingDelay, type Answer, type DeliveryContext, type InFlight, type Transport } from './delivery-loop.ts';
import type { Post } from './post.ts';

export interface WebhookContext extends DeliveryContext {
  post: Post;
  /** Whether the owners of an organisation get a mail when its webhook is stopped. */
  mailed: boolean;
  /** When a delivery is tried again; null if it is given up. Default: `nextAttempt`. */
  nextAttempt?: typeof nextAttempt;
}

/** Longer than an attempt with the resolution of its name, and all attempts to record it. */
const LEASE_MS = 120_000;
const GONE = 410;

/** From 10 seconds to 6 hours: about 20 attempts in three days. */
const RETRY = { firstMs: 10_000, longestMs: 6 * 3_600_000 };

/** Returns the time of the next attempt, or null if the delivery is given up. @param random from 0 to 1 */
export function nextAttempt(attempts: number, createdAt: Date, now: Date, random: number): Date | null {
  const next = new Date(now.getTime() + doublingDelay(attempts, RETRY, random));
  return isLate(createdAt, next) ? null : next;
}

/** Whether a delivery is too old for an attempt. */
const isLate = (createdAt: Date, at: Date): boolean => at.getTime() - createdAt.getTime() > RETRIED_FOR_MS;

export function createWebhookTransport(context: WebhookContext): Transport<DeliveryEntry> {
  // The one that was not tried for the longest time first. Each replica learns them: it costs one attempt of each endpoint.
  const failing = new Set<string>();
  return {
    priorities: ['webhook'],
    leaseMs: LEASE_MS,
    claimOrder: (inFlight, claims) => claimOrder(inFlight, failing, claims),
    send: (delivery) => send(context, delivery, failing),
    oldestDue: context.metrics.oldestWebhook,
  };
}

async function send(context: WebhookContext, delivery: DeliveryEntry, failing: Set<string>): Promise<Answer> {
  const { metrics, logger, clock, random = Math.random } = context;
  const { webhooks } = context.stores;
  const { _id, fairnessKey: id, message, body, attempts, createdAt } = delivery;
  const webhook = await webhooks.sendable(id);
  if (webhook === null || webhook.disabled !== null) {
    failing.delete(id);
    return { is: 'withdrawn', state: 'canceled' };
  }
  // The sender was off or down for days. What the endpoint would get is of no use any more.
  if (isLate(createdAt, clock.now())) return { is: 'withdrawn', state: attempts > 1 ? 'failed' : 'canceled' };
  const { outcome, attempt } = await context.post(
    webhook.url,
    signedHeaders({ id: message, at: clock.now(), body }, webhook.secrets),
    body,
  );
  const isDelivered = outcome === 'delivered';
  metrics.webhookAttempts.inc({ outcome });
  const fields = { delivery: _id, webhook: id, organisation: webhook.organisation, status: attempt.statusCode, reason: attempt.error };
  logger.debug(fields, isDelivered ? 'webhook delivered' : 'webhook not delivered');
  if (isDelivered) {
    failing.delete(id);
    const afterwards = async () => webhook.failingSince !== null && webhooks.succeeded(id);
    return { is: 'ended', state: 'delivered', attempt, afterwards };
  }
  addFailing(failing, id);
  const now = clock.now();
  const isGone = attempt.statusCode === GONE;
  const at = isGone ? null : (context.nextAttempt ?? nextAttempt)(attempts, createdAt, now, random());
  const afterwards = async () => {
    const since = await webhooks.failed(id, now);
    if (!isGone && !isStopped(since, now)) return;
    if (await stop(context, webhook, isGone ? 'gone' : 'failing', since)) failing.delete(id);
  };
  return at === null ? { is: 'ended', state: 'failed', attempt, afterwards } : { is: 'retry', at, attempt, afterwards };
}

/**
 * Disables an endpoint. The mail first: after a crash in between, the next failure repeats both, and the mail is stored once.
 * @returns whether the endpoint gets nothing more
 */
async function stop(
  { stores, mailed, metrics, logger }: WebhookContext,
  webhook: SendableWebhook,
  reason: 'gone' | 'failing',
  since: Date,
): Promise<boolean> {
  const { webhooks, deliveries } = stores;
  // Somebody may have deleted, disabled or moved it during the request.
  const current = await webhooks.sendable(webhook.id);
  if (current === null || current.disabled !== null) return true;
  if (current.url !== webhook.url) return false;
  if (mailed) await notifyStopped(stores, webhook, reason, since);
  if (!(await webhooks.stop(webhook.id, reason))) return true;
  metrics.stopped.inc({ reason });
  logger.info({ webhook: webhook.id, organisation: webhook.organisation, reason }, 'webhook disabled');
  await deliveries.cancelAll(webhook.id);
  return true;
}

/** Mails the owners of the organisation. Without a mail server, the dashboard, the API and the metrics show what happened. */
async function notifyStopped(
  { members, organisations, outbox }: WebhookContext['stores'],
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

/**
 * Returns which deliveries to look for, the first ones first.
 * @param failing the endpoints whose last attempt failed, the one that was not tried for the longest time first
 * @param claims deliveries claimed so far
 */
export function claimOrder(inFlight: readonly InFlight[], failing: ReadonlySet<string>, claims: number): ClaimFilter[] {
  if (inFlight.length >= CONCURRENCY) return [];
  const busy = inFlight.map(({ fairnessKey }) => fairnessKey);
  const organisations = inFlight.flatMap(({ organisation }) => organisation ?? []);
  // Those without a delivery under way come first, so that one with very many deliveries does not delay another one's only one.
  const shares = [
    { webhook: 1, organisation: 1 },
    { webhook: PER_WEBHOOK, organisation: PER_ORGANISATION },
  ];
  const working = shares.map((share) => ({
    priority: 'webhook' as const,
    exceptKeys: [...new Set([...failing, ...atLeast(share.webhook, busy)])],
    exceptOrganisations: atLeast(share.organisation, organisations),
  }));
  const hasRoom = failing.size > 0 && busy.filter((webhook) => failing.has(webhook)).length < FAILING_MAX;
  const others = shares.map(({ organisation }) => ({
    priority: 'webhook' as const,
    onlyKeys: [...failing],
    exceptKeys: atLeast(PER_FAILING, busy),
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
