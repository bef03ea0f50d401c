/** Changes the webhooks of a caller's organisation, over REST and in the dashboard. Each change is recorded in the audit log. */
import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { judgeScanUrl } from '../../core/scan/targets.ts';
import { bodyOf, testContent } from '../../core/webhooks/bodies.ts';
import { aboutAddress, TEST_EVENT } from '../../core/webhooks/webhooks.ts';
import type { Delivery } from '../../stores/outbox/deliveries.ts';
import { changeableOf, type ChangedWebhook, type Webhook, type WebhookChange, type WebhookFields } from '../../stores/webhooks/webhooks.ts';
import { recordChange, storesOf } from '../accounts/scoped-stores.ts';
import { ApiError } from '../http/errors.ts';
import { etagOf, readToMatch } from '../http/preconditions.ts';
import { dnsUnavailable, targetError } from '../scans/submission/submission.ts';

/** A webhook with its secret, which is shown once. */
export interface IssuedWebhook {
  webhook: Webhook;
  secret: string;
}

export const webhookTag = (webhook: Webhook): string => etagOf(changeableOf(webhook));

/** @throws ApiError as each of these functions, if the request is refused */
export async function findWebhook(request: FastifyRequest, id: string): Promise<Webhook> {
  const webhook = await storesOf(request).webhooks.find(id.toLowerCase());
  if (webhook === null) throw new ApiError('webhook_not_found');
  return webhook;
}

/**
 * Looks for the ID first: once the webhook exists, no refusal hides that.
 * @param fields.id default: a random one
 * @returns null if a webhook with the ID was created before
 * @throws ValidationFailure if the target rules refuse the address
 */
export async function createWebhook(request: FastifyRequest, fields: WebhookFields & { id?: string }): Promise<IssuedWebhook | null> {
  if (await wasAdded(request, fields.id)) return null;
  needsWebhooks(request);
  const url = await judged(request, fields.url);
  const added = await storesOf(request).webhooks.add({ ...fields, name: fields.name.trim(), url });
  // Another request with the ID may have added it meanwhile.
  if (!added.ok && added.reason === 'already_added') {
    await wasAdded(request, fields.id);
    return null;
  }
  if (!added.ok) throw new ApiError('too_many_webhooks');
  await record(request, 'webhook.add', added.webhook, creationOf(added.webhook));
  return added;
}

/** The `If-Match` of the request counts. @throws ValidationFailure if the target rules refuse the address */
export async function changeWebhook(request: FastifyRequest, id: string, { enabled: wanted, ...fields }: WebhookChange): Promise<Webhook> {
  if (wanted === true) needsWebhooks(request);
  const { webhooks, deliveries } = storesOf(request);
  const read = await readToMatch(request, () => findWebhook(request, id), webhookTag);
  const { url: given, ...rest } = fields;
  const url = given === undefined ? undefined : await judged(request, given);
  const name = fields.name === undefined ? {} : { name: fields.name.trim() };
  const before = read ?? (await findWebhook(request, id));
  const moved = url === undefined || url === before.url ? {} : { url };
  const enabled = wanted === (before.disabled === null) ? undefined : wanted;
  const isMore = Object.keys(fields).length > 0;
  if (!isMore && enabled === undefined) return before;
  const change = { ...rest, ...moved, ...name, ...(enabled !== undefined && { enabled }) };
  const { webhook } = accepted(await webhooks.change(before.id, change, read));
  if (isMore) await record(request, 'webhook.change', webhook);
  if (enabled === false) await deliveries.cancelAll(before.id);
  if (enabled !== undefined) await record(request, enabled ? 'webhook.enable' : 'webhook.disable', webhook);
  return webhook;
}

/** A webhook that was deleted may be created again with its ID, by a repeated request. */
const creationOf = ({ id, createdAt }: Webhook): string => `${id} ${createdAt.toISOString()}`;

/** Whether a webhook has the ID. The audit entry of the request that created it may have been lost. */
async function wasAdded(request: FastifyRequest, id: string | undefined): Promise<boolean> {
  const webhook = id === undefined ? null : await storesOf(request).webhooks.find(id);
  if (webhook !== null) await record(request, 'webhook.add', webhook, creationOf(webhook));
  return webhook !== null;
}

/**
 * @param keepPrevious false: the secrets before it sign no more @param rotation an ID. Default: a random one
 * @returns null if the secret was replaced under the ID before
 */
export async function rotateSecret(
  request: FastifyRequest,
  id: string,
  keepPrevious: boolean,
  rotation: string = randomUUID(),
): Promise<IssuedWebhook | null> {
  const { webhook, secret } = accepted(await storesOf(request).webhooks.rotate(id.toLowerCase(), rotation, keepPrevious));
  await record(request, 'webhook.rotate', webhook, rotation);
  return secret === null ? null : { webhook, secret };
}

export async function removeWebhook(request: FastifyRequest, id: string) {
  const { webhooks, deliveries } = storesOf(request);
  const { webhook } = accepted(await webhooks.remove(id.toLowerCase()));
  await deliveries.cancelAll(webhook.id);
  await record(request, 'webhook.delete', webhook);
}

/** Queues a delivery that says that it is a test. */
export async function testWebhook(request: FastifyRequest, id: string): Promise<Delivery> {
  const { deliveries } = storesOf(request);
  const webhook = await findEnabled(request, id);
  const body = bodyOf(testContent({ id: webhook.id, name: webhook.name }, request.server.now()), webhook.format);
  const one = { webhook: webhook.id, type: TEST_EVENT, scan: null, order: 0, body } as const;
  const [stored] = await deliveries.enqueue({ ...one, event: `${TEST_EVENT}:${request.idempotent?.resourceId ?? randomUUID()}` });
  return (await deliveries.find(webhook.id, stored!.id))!;
}

/** Queues a delivery again, with the same message. */
export async function replayDelivery(request: FastifyRequest, id: string, delivery: string): Promise<Delivery> {
  const webhook = await findEnabled(request, id);
  const again = await storesOf(request).deliveries.replay(webhook.id, delivery, request.idempotent?.resourceId ?? randomUUID());
  if (again === null) throw new ApiError('delivery_not_found');
  return again;
}

async function findEnabled(request: FastifyRequest, id: string): Promise<Webhook> {
  needsWebhooks(request);
  const webhook = await findWebhook(request, id);
  if (webhook.disabled !== null) throw new ApiError('webhook_disabled');
  return webhook;
}

/** What would never be delivered is refused, and not silently kept. */
function needsWebhooks({ server }: FastifyRequest): void {
  if (!server.settings.webhooks) throw new ApiError('webhooks_off');
}

async function judged({ server }: FastifyRequest, url: string): Promise<string> {
  const judgement = await judgeScanUrl(url, server.settings.targets, server.resolver);
  if (judgement.ok) return judgement.href;
  const { reason, message } = judgement;
  if (reason === 'dns_unavailable') throw dnsUnavailable();
  throw targetError({ reason, message: aboutAddress(message) });
}

/** @param once see `NewAuditEntry` */
const record = (request: FastifyRequest, action: string, { id, name }: Webhook, once?: string): Promise<void> =>
  recordChange(request, request.server.logger, { action, subject: `${name} (${id})`, ...(once !== undefined && { once }) });

const REFUSALS = {
  not_found: 'webhook_not_found',
  managed_by_manifest: 'webhook_managed_by_manifest',
  changed: 'precondition_failed',
} as const;

/** @throws ApiError if the store refused the change */
function accepted<T>(changed: ChangedWebhook<T>): T {
  if (changed.ok) return changed;
  throw new ApiError(REFUSALS[changed.reason]);
}
