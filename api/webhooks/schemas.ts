/** The bodies of the REST routes of webhooks. */
import { Type, type Static } from 'typebox';
import { growing, nullable, oneOf } from '../../core/schemas.ts';
import { URL_MAX_LENGTH } from '../../core/scan/targets.ts';
import {
  CREDITS_BELOW_DEFAULT,
  CREDITS_BELOW_MAX,
  DELIVERED_EVENTS,
  DELIVERY_STATES,
  DISABLED_REASONS,
  WEBHOOK_EVENTS,
  WEBHOOK_FORMATS,
  WEBHOOK_NAME_MAX,
} from '../../core/webhooks/webhooks.ts';
import type { Delivery } from '../../stores/outbox/deliveries.ts';
import type { Webhook } from '../../stores/webhooks/webhooks.ts';
import { NEXT_CURSOR } from '../http/pagination.ts';
import { reference } from '../http/responses.ts';

const FIELDS = {
  name: Type.String({ minLength: 1, maxLength: WEBHOOK_NAME_MAX, pattern: '\\S', description: 'What receives the events.' }),
  url: Type.String({
    format: 'uri',
    maxLength: URL_MAX_LENGTH,
    description: 'The URL that receives the events. The rules for the URLs of scans apply. Use https to keep the events private.',
  }),
  events: Type.Array(oneOf(WEBHOOK_EVENTS), { minItems: 1, uniqueItems: true, description: 'The events that are sent.' }),
  format: oneOf(WEBHOOK_FORMATS, { description: '`json`: the event. The others: a message for an incoming webhook of this chat program.' }),
  credits_below: Type.Integer({
    minimum: 1,
    maximum: CREDITS_BELOW_MAX,
    description: '`credits.low` is sent when fewer credits than this can be reserved: once until there have been enough again.',
  }),
};

const EXAMPLE = { name: 'Chat of the web team', url: 'https://example.com/hooks/curbcut', events: ['scan.completed', 'scan.failed'] };

export const NewWebhook = Type.Object(
  {
    ...FIELDS,
    format: Type.Unsafe<Static<typeof FIELDS.format>>({ ...FIELDS.format, default: 'json' }),
    credits_below: Type.Integer({ ...FIELDS.credits_below, default: CREDITS_BELOW_DEFAULT }),
  },
  { title: 'NewWebhook', additionalProperties: false, required: ['name', 'url', 'events'], examples: [EXAMPLE] },
);

export const WebhookChange = Type.Object(
  {
    ...(Object.fromEntries(Object.entries(FIELDS).map(([name, schema]) => [name, Type.Optional(schema)])) as {
      [K in keyof typeof FIELDS]: ReturnType<typeof Type.Optional<(typeof FIELDS)[K]>>;
    }),
    enabled: Type.Optional(Type.Boolean({ description: 'False: nothing is delivered, and what waits is canceled.' })),
  },
  { title: 'WebhookChange', additionalProperties: false, minProperties: 1, examples: [{ enabled: true }] },
);

const webhookFields = {
  id: Type.String({ format: 'uuid' }),
  ...FIELDS,
  events: Type.Array(growing(WEBHOOK_EVENTS)),
  format: growing(WEBHOOK_FORMATS),
  managed_by: growing(['api', 'manifest'], {
    description: '`manifest`: the Organisation manifest declares it, and only the manifest changes it.',
  }),
  enabled: Type.Boolean(),
  disabled_reason: Type.Unsafe<(typeof DISABLED_REASONS)[number] | null>({
    type: ['string', 'null'],
    'x-extensible-enum': [...DISABLED_REASONS, null],
    description:
      '`requested`: somebody disabled it. `gone`: it answered 410. `failing`: every attempt of 5 days failed. Null: it is enabled. ' +
      'More values may be added.',
  }),
  disabled_at: nullable(Type.String({ format: 'date-time' })),
  failing_since: nullable(
    Type.String({ format: 'date-time', description: 'Since when every attempt has failed. Null: the last one succeeded.' }),
  ),
  created_at: Type.String({ format: 'date-time' }),
  created_by: Type.String({ description: 'An e-mail address, `key:` and the ID of an API key, or `manifest`.' }),
};

export const WebhookBody = Type.Object(webhookFields, { $id: 'Webhook' });
export const IssuedWebhookBody = Type.Object(
  {
    ...webhookFields,
    secret: Type.String({ pattern: '^whsec_', description: 'The secret that signs the requests. It is shown only in this response.' }),
  },
  { $id: 'IssuedWebhook' },
);
export const WebhookListBody = Type.Object({ data: Type.Array(reference(WebhookBody)), next_cursor: NEXT_CURSOR }, { $id: 'WebhookList' });

const Attempt = Type.Object({
  at: Type.String({ format: 'date-time' }),
  duration_ms: nullable(Type.Integer({ minimum: 0, description: 'Null while it is under way, and if it was interrupted.' })),
  status_code: nullable(Type.Integer({ description: 'Null if the endpoint did not answer.' })),
  error: nullable(Type.String({ description: 'Why it failed. Null: it succeeded, is under way, or was interrupted.' })),
  response: nullable(Type.String({ description: 'The first 200 characters of the answer.' })),
});

export const DeliveryBody = Type.Object(
  {
    id: Type.String(),
    message_id: Type.String({ description: 'The `webhook-id` of its requests. A replay has the one of the first delivery.' }),
    event: growing(DELIVERED_EVENTS),
    scan_id: nullable(Type.String({ format: 'uuid' })),
    status: growing(DELIVERY_STATES, {
      description: '`failed`: given up after 3 days. `canceled`: the webhook was disabled or deleted before.',
    }),
    created_at: Type.String({ format: 'date-time' }),
    next_attempt_at: nullable(Type.String({ format: 'date-time', description: 'Null if it has ended.' })),
    attempts: Type.Array(Attempt, { description: 'Exactly one entry for each attempt, in their order.' }),
    body: Type.String({ description: 'The body of its requests.' }),
  },
  { $id: 'WebhookDelivery' },
);

export function toWebhookBody(webhook: Webhook): Static<typeof WebhookBody> {
  const { id, name, url, events, format, creditsBelow, managedBy, disabled, failingSince, createdAt, createdBy } = webhook;
  return {
    id,
    name,
    url,
    events: [...events],
    format,
    credits_below: creditsBelow,
    managed_by: managedBy,
    enabled: disabled === null,
    disabled_reason: disabled?.reason ?? null,
    disabled_at: disabled?.at.toISOString() ?? null,
    failing_since: failingSince?.toISOString() ?? null,
    created_at: createdAt.toISOString(),
    created_by: createdBy,
  };
}

export function toDeliveryBody(delivery: Delivery): Static<typeof DeliveryBody> {
  const { id, message, type, scan, state, createdAt, nextAt, attempts, body } = delivery;
  return {
    id,
    message_id: message,
    event: type,
    scan_id: scan,
    status: state,
    created_at: createdAt.toISOString(),
    next_attempt_at: nextAt?.toISOString() ?? null,
    attempts: attempts.map(({ at, durationMs, statusCode, error, response }) => ({
      at: at.toISOString(),
      duration_ms: durationMs,
      status_code: statusCode,
      error,
      response,
    })),
    body,
  };
}
