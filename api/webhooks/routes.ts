/** The REST routes of webhooks. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { nullable, oneOf } from '../../core/schemas.ts';
import { DELIVERY_STATES, WEBHOOKS_MAX } from '../../core/webhooks/webhooks.ts';
import type { Webhook } from '../../stores/webhooks/webhooks.ts';
import { storesOf } from '../accounts/scoped-stores.ts';
import { EXAMPLES } from '../http/examples.ts';
import { alreadyCreated } from '../http/plugins/idempotency.ts';
import { decodeCursor, NEXT_CURSOR, pageOf, pageQuery } from '../http/pagination.ts';
import { IF_MATCH } from '../http/preconditions.ts';
import {
  answer,
  CHANGES,
  created,
  emptyAnswer,
  keyOrSession,
  LIMITED,
  reference,
  refusals,
  VERSIONED,
  WITH_BODY,
  WITH_SESSION,
} from '../http/responses.ts';
import {
  changeWebhook,
  createWebhook,
  findWebhook,
  removeWebhook,
  replayDelivery,
  rotateSecret,
  testWebhook,
  webhookTag,
  type IssuedWebhook,
} from './management.ts';
import {
  DeliveryBody,
  IssuedWebhookBody,
  NewWebhook,
  toDeliveryBody,
  toWebhookBody,
  WebhookBody,
  WebhookChange,
  WebhookListBody,
} from './schemas.ts';

const CONFIG = { session: true, permission: 'webhooks:write' } as const;
const SECRET = { ...CONFIG, idempotency: 'secret' } as const;
const ID = { webhook_id: Type.String({ format: 'uuid' }) };
const DELIVERY = { ...ID, delivery_id: Type.String({ maxLength: 100 }) };
const DeliveryList = Type.Object({ data: Type.Array(reference(DeliveryBody)), next_cursor: NEXT_CURSOR });

/** What all operations share. */
const operation = (operationId: string, summary: string, description?: string) => ({
  operationId,
  tags: ['Webhooks'],
  summary,
  ...(description !== undefined && { description }),
  security: keyOrSession('webhooks:write'),
});

const LIST = {
  ...operation(
    'listWebhooks',
    'List the webhooks',
    'Returns those that were made over REST or in the dashboard, and those of the manifest, newest first.',
  ),
  querystring: pageQuery({}),
  response: {
    200: answer('The webhooks.', reference(WebhookListBody), LIMITED, { webhooks: EXAMPLES.webhooks }),
    ...refusals(WITH_SESSION),
  },
};

const CREATE = {
  ...operation(
    'createWebhook',
    'Create a webhook',
    'Requests to the address are signed as Standard Webhooks defines it. The secret is shown once. ' +
      `An organisation can have ${WEBHOOKS_MAX} webhooks, in addition to those of its manifest.`,
  ),
  body: NewWebhook,
  response: {
    201: created('The new webhook.', reference(IssuedWebhookBody), { issued: EXAMPLES.issuedWebhook }, ['ETag']),
    ...refusals([...CHANGES, ...WITH_BODY, 'webhooks_off', 'too_many_webhooks']),
  },
};

const GET = {
  ...operation('getWebhook', 'Get a webhook'),
  params: Type.Object(ID),
  response: {
    200: answer('The webhook.', reference(WebhookBody), VERSIONED, { webhook: EXAMPLES.webhook }),
    ...refusals([...WITH_SESSION, 'webhook_not_found']),
  },
};

const CHANGE = {
  ...operation('changeWebhook', 'Change, enable or disable a webhook', 'Fields that are left out stay as they are.'),
  params: Type.Object(ID),
  headers: IF_MATCH,
  body: WebhookChange,
  response: {
    200: answer('The changed webhook.', reference(WebhookBody), VERSIONED, { webhook: EXAMPLES.webhook }),
    ...refusals([...CHANGES, ...WITH_BODY, 'webhook_not_found', 'webhooks_off', 'webhook_managed_by_manifest', 'precondition_failed']),
  },
};

const DELETE = {
  ...operation('deleteWebhook', 'Delete a webhook', 'What waits for delivery is canceled.'),
  params: Type.Object(ID),
  response: {
    204: emptyAnswer('The webhook is deleted.', LIMITED),
    ...refusals([...CHANGES, 'webhook_not_found', 'webhook_managed_by_manifest']),
  },
};

const SecretRotation = nullable(
  Type.Object(
    {
      keep_previous: Type.Optional(
        Type.Boolean({
          default: true,
          description: 'False: those before it sign no more, because one has leaked. The receiver needs the new one first.',
        }),
      ),
    },
    { title: 'SecretRotation', additionalProperties: false, examples: [{ keep_previous: false }] },
  ),
);

const ROTATE = {
  ...operation('rotateWebhookSecret', 'Replace the secret of a webhook', 'For 24 hours, requests are signed with both secrets.'),
  params: Type.Object(ID),
  body: SecretRotation,
  response: {
    200: answer('The webhook with its new secret.', reference(IssuedWebhookBody), VERSIONED, { issued: EXAMPLES.issuedWebhook }),
    ...refusals([...CHANGES, ...WITH_BODY, 'webhook_not_found', 'webhook_managed_by_manifest']),
  },
};

const TEST = {
  ...operation('testWebhook', 'Send a test', 'Queues a delivery of the event `webhook.test`, whatever the events of the webhook are.'),
  params: Type.Object(ID),
  response: {
    202: answer('The delivery is queued.', reference(DeliveryBody), LIMITED, { delivery: EXAMPLES.delivery }),
    ...refusals([...CHANGES, 'webhook_not_found', 'webhooks_off', 'webhook_disabled']),
  },
};

const DELIVERIES = {
  ...operation(
    'listWebhookDeliveries',
    'List the deliveries of a webhook',
    'Returns them newest first, with every attempt. They are kept for 30 days.',
  ),
  params: Type.Object(ID),
  querystring: pageQuery({ status: Type.Optional(oneOf(DELIVERY_STATES, { description: 'Only deliveries with this status.' })) }),
  response: {
    200: answer('The deliveries.', DeliveryList, LIMITED, { deliveries: EXAMPLES.deliveries }),
    ...refusals([...WITH_SESSION, 'webhook_not_found']),
  },
};

const REPLAY = {
  ...operation('replayWebhookDelivery', 'Send a delivery again', 'Queues a new delivery with the same `webhook-id` and body.'),
  params: Type.Object(DELIVERY),
  response: {
    202: answer('The new delivery is queued.', reference(DeliveryBody), LIMITED, { delivery: EXAMPLES.delivery }),
    ...refusals([...CHANGES, 'webhook_not_found', 'delivery_not_found', 'webhooks_off', 'webhook_disabled']),
  },
};

function tagged(reply: FastifyReply, webhook: Webhook) {
  reply.header('ETag', webhookTag(webhook));
  return toWebhookBody(webhook);
}
const issued = (reply: FastifyReply, { webhook, secret }: IssuedWebhook) => ({ ...tagged(reply, webhook), secret });

export const webhookRoutes: FastifyPluginAsyncTypebox = async (scope) => {
  scope.get('/v1/webhooks', { config: CONFIG, schema: LIST }, async (request) => {
    const { limit, cursor } = request.query;
    const found = await storesOf(request).webhooks.list({ after: decodeCursor(cursor), limit: limit + 1 });
    const { items, nextCursor } = pageOf(found, limit, (one) => ({ at: one.createdAt, id: one.id }));
    return { data: items.map(toWebhookBody), next_cursor: nextCursor };
  });

  scope.post('/v1/webhooks', { config: SECRET, schema: CREATE }, async (request, reply) => {
    const { credits_below: creditsBelow, ...fields } = request.body;
    const id = request.idempotent?.resourceId;
    const added = await createWebhook(request, { ...fields, creditsBelow, id });
    if (added === null) throw alreadyCreated(id!);
    return reply.code(201).send(issued(reply, added));
  });

  scope.get('/v1/webhooks/:webhook_id', { config: CONFIG, schema: GET }, async (request, reply) =>
    tagged(reply, await findWebhook(request, request.params.webhook_id)),
  );

  scope.patch('/v1/webhooks/:webhook_id', { config: CONFIG, schema: CHANGE }, async (request, reply) => {
    const { credits_below: creditsBelow, ...fields } = request.body;
    const change = { ...fields, ...(creditsBelow !== undefined && { creditsBelow }) };
    return tagged(reply, await changeWebhook(request, request.params.webhook_id, change));
  });

  scope.delete('/v1/webhooks/:webhook_id', { config: CONFIG, schema: DELETE }, async (request, reply) => {
    await removeWebhook(request, request.params.webhook_id);
    return reply.code(204).send();
  });

  scope.post('/v1/webhooks/:webhook_id/rotate-secret', { config: SECRET, schema: ROTATE }, async (request, reply) => {
    const { webhook_id: id } = request.params;
    const rotated = await rotateSecret(request, id, request.body?.keep_previous ?? true, request.idempotent?.resourceId);
    if (rotated === null) throw alreadyCreated(id.toLowerCase());
    return issued(reply, rotated);
  });

  scope.post('/v1/webhooks/:webhook_id/test', { config: CONFIG, schema: TEST }, async (request, reply) =>
    reply.code(202).send(toDeliveryBody(await testWebhook(request, request.params.webhook_id))),
  );

  scope.get('/v1/webhooks/:webhook_id/deliveries', { config: CONFIG, schema: DELIVERIES }, async (request) => {
    const { limit, cursor, status: state } = request.query;
    const { id } = await findWebhook(request, request.params.webhook_id);
    const found = await storesOf(request).deliveries.list(id, { state, after: decodeCursor(cursor), limit: limit + 1 });
    const { items, nextCursor } = pageOf(found, limit, (one) => ({ at: one.createdAt, id: one.id }));
    return { data: items.map(toDeliveryBody), next_cursor: nextCursor };
  });

  scope.post('/v1/webhooks/:webhook_id/deliveries/:delivery_id/replay', { config: CONFIG, schema: REPLAY }, async (request, reply) => {
    const { webhook_id: id, delivery_id: delivery } = request.params;
    const again = await replayDelivery(request, id, delivery);
    if (request.idempotent !== null) request.idempotent.scan = again.scan;
    return reply.code(202).send(toDeliveryBody(again));
  });
};
