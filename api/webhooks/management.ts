/** Changes the webhooks of a caller's organisation, over REST and in the dashboard. Each change is recorded in the audit log. */
import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { judgeScanUrl, type Resolver } from '../../core/scan/targets.ts';
import { bodyOf, testContent } from '../../core/webhooks/bodies.ts';
import { aboutAddress, TEST_EVENT } from '../../core/webhooks/webhooks.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Delivery } from '../../stores/outbox/deliveries.ts';
import type { ChangedWebhook, Webhook, WebhookFields } from '../../stores/webhooks/webhooks.ts';
import { recordChange, storesOf } from '../accounts/scoped-stores.ts';
import type { Settings } from '../dependencies.ts';
import { ApiError } from '../http/errors.ts';
import { dnsUnavailable, targetError } from '../scans/submission/submission.ts';

export interface WebhookManagementDeps {
  settings: Pick<Settings, 'webhooks' | 'targets'>;
  resolver: Resolver;
  now: () => Date;
  logger: Logger;
}

/** A webhook with its secret, which is shown once. */
export interface IssuedWebhook {
  webhook: Webhook;
  secret: string;
}

/** @throws ApiError or ValidationFailure from each method if the request is refused */
export const createWebhookManagement = (deps: WebhookManagementDeps) => ({
  find,
  ...createChanges(deps),
  ...createDeliveries(deps),
});

function createChanges(deps: WebhookManagementDeps) {
  return {
    /**
     * Looks for the ID first: once the webhook exists, no refusal hides that.
     * @param fields.id default: a random one
     * @returns null if a webhook with the ID was created before
     */
    async create(request: FastifyRequest, fields: WebhookFields & { id?: string }): Promise<IssuedWebhook | null> {
      if (await wasAdded(deps, request, fields.id)) return null;
      needsWebhooks(deps);
      const url = await judged(deps, fields.url);
      const added = await storesOf(request).webhooks.add({ ...fields, name: fields.name.trim(), url });
      if (!added.ok && added.reason === 'already_added') return null;
      if (!added.ok) throw new ApiError('too_many_webhooks');
      await record(deps, request, 'webhook.add', added.webhook, added.webhook.id);
      return added;
    },

    async change(
      request: FastifyRequest,
      id: string,
      { enabled, ...fields }: Partial<WebhookFields> & { enabled?: boolean },
    ): Promise<Webhook> {
      if (enabled === true) needsWebhooks(deps);
      const { webhooks, deliveries } = storesOf(request);
      const key = id.toLowerCase();
      const { url: given, ...rest } = fields;
      const url = given === undefined ? undefined : await judged(deps, given);
      const name = fields.name === undefined ? {} : { name: fields.name.trim() };
      let webhook = await find(request, id);
      if (Object.keys(fields).length > 0) {
        const moved = url === undefined || url === webhook.url ? {} : { url };
        ({ webhook } = accepted(await webhooks.change(key, { ...rest, ...moved, ...name })));
        await record(deps, request, 'webhook.change', webhook);
      }
      if (enabled !== undefined && enabled !== (webhook.disabled === null)) {
        ({ webhook } = accepted(await webhooks.setEnabled(key, enabled)));
        if (!enabled) await deliveries.cancelAll(key);
        await record(deps, request, enabled ? 'webhook.enable' : 'webhook.disable', webhook);
      }
      return webhook;
    },

    /** @param rotation an ID. Default: a random one @returns null if the secret was replaced under the ID before */
    async rotate(request: FastifyRequest, id: string, rotation: string = randomUUID()): Promise<IssuedWebhook | null> {
      const { webhook, secret } = accepted(await storesOf(request).webhooks.rotate(id.toLowerCase(), rotation));
      await record(deps, request, 'webhook.rotate', webhook, rotation);
      return secret === null ? null : { webhook, secret };
    },

    async remove(request: FastifyRequest, id: string) {
      const { webhooks, deliveries } = storesOf(request);
      const { webhook } = accepted(await webhooks.remove(id.toLowerCase()));
      await deliveries.cancelAll(webhook.id);
      await record(deps, request, 'webhook.delete', webhook);
    },
  };
}

/** Whether a webhook has the ID. The audit entry of the request that created it may have been lost. */
async function wasAdded(deps: WebhookManagementDeps, request: FastifyRequest, id: string | undefined): Promise<boolean> {
  const webhook = id === undefined ? null : await storesOf(request).webhooks.find(id);
  if (webhook !== null) await record(deps, request, 'webhook.add', webhook, id);
  return webhook !== null;
}

function createDeliveries(deps: WebhookManagementDeps) {
  async function findEnabled(request: FastifyRequest, id: string): Promise<Webhook> {
    needsWebhooks(deps);
    const webhook = await find(request, id);
    if (webhook.disabled !== null) throw new ApiError('webhook_disabled');
    return webhook;
  }

  return {
    /** Queues a delivery that says that it is a test. */
    async test(request: FastifyRequest, id: string): Promise<Delivery> {
      const { deliveries } = storesOf(request);
      const webhook = await findEnabled(request, id);
      const body = bodyOf(testContent({ id: webhook.id, name: webhook.name }, deps.now()), webhook.format);
      const one = { webhook: webhook.id, type: TEST_EVENT, scan: null, order: 0, body } as const;
      const [stored] = await deliveries.enqueue({ ...one, event: `${TEST_EVENT}:${request.idempotent?.resourceId ?? randomUUID()}` });
      return (await deliveries.find(webhook.id, stored!.id))!;
    },

    /** Queues a delivery again, with the same message. */
    async replay(request: FastifyRequest, id: string, delivery: string): Promise<Delivery> {
      const webhook = await findEnabled(request, id);
      const again = await storesOf(request).deliveries.replay(webhook.id, delivery, request.idempotent?.resourceId ?? randomUUID());
      if (again === null) throw new ApiError('delivery_not_found');
      return again;
    },
  };
}

async function find(request: FastifyRequest, id: string): Promise<Webhook> {
  const webhook = await storesOf(request).webhooks.find(id.toLowerCase());
  if (webhook === null) throw new ApiError('webhook_not_found');
  return webhook;
}

/** What would never be delivered is refused, and not silently kept. */
function needsWebhooks({ settings }: WebhookManagementDeps): void {
  if (!settings.webhooks) throw new ApiError('webhooks_off');
}

/** @throws ValidationFailure if the target rules refuse the address */
async function judged({ settings, resolver }: WebhookManagementDeps, url: string): Promise<string> {
  const judgement = await judgeScanUrl(url, settings.targets, resolver);
  if (judgement.ok) return judgement.href;
  const { reason, message } = judgement;
  if (reason === 'dns_unavailable') throw dnsUnavailable();
  throw targetError({ reason, message: aboutAddress(message) });
}

/** @param once see `NewAuditEntry` */
const record = ({ logger }: WebhookManagementDeps, request: FastifyRequest, action: string, { id, name }: Webhook, once?: string) =>
  recordChange(request, logger, { action, subject: `${name} (${id})`, ...(once !== undefined && { once }) });

/** @throws ApiError if the store refused the change */
function accepted<T>(changed: ChangedWebhook<T>): T {
  if (changed.ok) return changed;
  throw new ApiError(changed.reason === 'not_found' ? 'webhook_not_found' : 'webhook_managed_by_manifest');
}
