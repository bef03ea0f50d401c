/** Settings → Webhooks: the list, creating a webhook, its page, and what is done there. */
import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { WEBHOOKS_PATH } from '../../../core/web-paths.ts';
import {
  CREDITS_BELOW_DEFAULT,
  hostOf,
  WEBHOOK_EVENTS,
  WEBHOOK_NAME_MAX,
  type WebhookEvent,
  type WebhookFormat,
} from '../../../core/webhooks/webhooks.ts';
import { storesOf } from '../../accounts/scoped-stores.ts';
import { ApiError, messageOf, statusOf, ValidationFailure } from '../../http/errors.ts';
import { decodeCursor, pageOf } from '../../http/pagination.ts';
import { compileValidator } from '../../http/validation.ts';
import { formOf } from '../../web/html-scope.ts';
import { createWebhookManagement, type WebhookManagementDeps } from '../../webhooks/management.ts';
import { NewWebhook } from '../../webhooks/schemas.ts';
import { actorNames } from '../names.ts';
import { csrfField, doneOf, errorOf, formErrors, formIdOf, idOfForm, titledPage } from '../forms.ts';
import type { Webhook } from '../../../stores/webhooks/webhooks.ts';
import {
  actions,
  button,
  choices,
  code,
  definitions,
  type FormError,
  hiddenField,
  link,
  linkButton,
  notice,
  textField,
} from '../../web/components.ts';
import { html, type Html } from '../../web/html.ts';
import { webhookListPage, webhookPage } from './webhook-pages.ts';

const PERMISSION = { config: { permission: 'webhooks:write' } } as const;
const ONE = `${WEBHOOKS_PATH}/:webhook_id`;
const PER_PAGE = 20;
const DONE = {
  deleted: 'The webhook was deleted.',
  enabled: 'The webhook is enabled.',
  disabled: 'The webhook is disabled. What waited for delivery is canceled.',
  test: 'A test is on its way. Reload the page to see what became of it.',
  replay: 'The delivery is sent again. Reload the page to see what became of it.',
};
const BOTH_SIGN = 'For 24 hours, requests also have a signature of the secret before.';

type One = { Params: { webhook_id: string } };
type OneDelivery = { Params: { webhook_id: string; delivery_id: string } };

export const webhookPages: FastifyPluginAsync<WebhookManagementDeps> = async (scope, deps) => {
  const management = createWebhookManagement(deps);
  const back = (reply: FastifyReply, done: keyof typeof DONE, id?: string) =>
    reply.redirect(`${WEBHOOKS_PATH}${id === undefined ? '' : `/${id}`}?done=${done}`, 303);

  scope.get(WEBHOOKS_PATH, PERMISSION, async (request, reply) => {
    const webhooks = await storesOf(request).webhooks.list();
    const names = await actorNames(storesOf(request), webhooks, ({ createdBy }) => createdBy);
    return reply.page(webhookListPage({ request, webhooks, names, done: doneOf(request, DONE), on: deps.settings.webhooks }));
  });

  scope.get(`${WEBHOOKS_PATH}/new`, PERMISSION, async (request, reply) => {
    const events = ['scan.completed', 'scan.failed'];
    const credits = String(CREDITS_BELOW_DEFAULT);
    return reply.page(
      createWebhookPage(request, { name: '', url: '', events, format: 'json', creditsBelow: credits, formId: randomUUID() }, []),
    );
  });

  scope.post(`${WEBHOOKS_PATH}/new`, PERMISSION, async (request, reply) => {
    const typed = typedIn(request);
    try {
      const created = await management.create(request, { ...checked(typed), id: idOfForm(request, typed.formId) });
      if (created === null) return reply.page(webhookCreatedPage(request));
      return reply.page(secretPage(request, created.webhook, created.secret, null), { status: 201 });
    } catch (error) {
      if (error instanceof ValidationFailure)
        return reply.page(createWebhookPage(request, typed, formErrors(error.items, WEBHOOK_FIELDS)), { status: 422 });
      if (!(error instanceof ApiError) || !['too_many_webhooks', 'webhooks_off'].includes(error.code)) throw error;
      return reply.page(createWebhookPage(request, typed, [{ field: null, text: messageOf(error) }]), { status: statusOf(error) });
    }
  });

  scope.get<One>(ONE, PERMISSION, async (request, reply) => {
    const webhook = await management.find(request, request.params.webhook_id);
    const { cursor } = request.query as { cursor?: string };
    const found = await storesOf(request).deliveries.list(webhook.id, { after: decodeCursor(cursor), limit: PER_PAGE + 1 });
    const { items: deliveries, nextCursor } = pageOf(found, PER_PAGE, (one) => ({ at: one.createdAt, id: one.id }));
    const state = { first: cursor === undefined, nextCursor, done: doneOf(request, DONE), on: deps.settings.webhooks };
    const names = await actorNames(storesOf(request), [webhook], ({ createdBy }) => createdBy);
    return reply.page(webhookPage({ request, webhook, names, deliveries, ...state }));
  });

  scope.post<One>(`${ONE}/rotate`, PERMISSION, async (request, reply) => {
    const { webhook, secret } = await management.rotate(request, request.params.webhook_id);
    return reply.page(secretPage(request, webhook, secret, BOTH_SIGN));
  });

  scope.post<One>(`${ONE}/delete`, PERMISSION, async (request, reply) => {
    await management.remove(request, request.params.webhook_id);
    return back(reply, 'deleted');
  });

  for (const [action, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const)
    scope.post<One>(`${ONE}/${action}`, PERMISSION, async (request, reply) => {
      const { id } = await management.change(request, request.params.webhook_id, { enabled });
      return back(reply, `${action}d`, id);
    });

  scope.post<One>(`${ONE}/test`, PERMISSION, async (request, reply) => {
    const { webhook } = await management.test(request, request.params.webhook_id);
    return back(reply, 'test', webhook);
  });

  scope.post<OneDelivery>(`${ONE}/deliveries/:delivery_id/replay`, PERMISSION, async (request, reply) => {
    const { webhook_id: id, delivery_id: delivery } = request.params;
    const { webhook } = await management.replay(request, id, delivery);
    return back(reply, 'replay', webhook);
  });
};

function typedIn(request: FastifyRequest): TypedWebhook {
  const form = formOf(request.body);
  return {
    name: form.text('name'),
    url: form.text('url'),
    events: form.all('events'),
    format: form.text('format'),
    creditsBelow: form.text('credits_below'),
    formId: formIdOf(form),
  };
}

const validate = compileValidator({ schema: NewWebhook, method: 'POST', url: WEBHOOKS_PATH, httpPart: 'body' });

/** Checks a form by the schema of the API, so that the errors are the same. @throws ValidationFailure */
function checked({ name, url, events, format, creditsBelow }: TypedWebhook) {
  const credits = /^\d{1,12}$/.test(creditsBelow) ? Number(creditsBelow) : creditsBelow;
  const { error } = validate({ name, url, events, format, credits_below: credits }) as { error?: unknown };
  if (error instanceof ValidationFailure) throw error;
  return { name, url, events: events as WebhookEvent[], format: format as WebhookFormat, creditsBelow: Number(credits) };
}

interface TypedWebhook {
  name: string;
  url: string;
  events: readonly string[];
  format: string;
  creditsBelow: string;
  /** Identifies this form, so that sending it twice creates one webhook. */
  formId: string;
}

const FRAME = { active: 'webhooks', trail: [{ text: 'Webhooks', href: WEBHOOKS_PATH }], narrow: true } as const;

export const WEBHOOK_FIELDS = {
  name: { label: 'Name', enter: 'Enter a name.' },
  url: { label: 'Address', enter: 'Enter an absolute URL, such as https://example.com/hook.' },
  events: { label: 'Events', enter: 'Choose at least one event.' },
  format: { label: 'Format' },
  credits_below: { label: 'Credits', enter: 'Enter a whole number.' },
};

const MEANINGS: Readonly<Record<WebhookEvent, string>> = {
  'scan.completed': 'A scan is done, whether or not it passed.',
  'scan.failed': 'A scan failed or was canceled.',
  'schedule.regressed': 'The last scan of a schedule is worse than the one before it.',
  'credits.low': 'Few credits are left.',
};

function createWebhookPage(request: FastifyRequest, typed: TypedWebhook, errors: readonly FormError[]): Html {
  const body = html`<form method="post" action="${WEBHOOKS_PATH}/new" novalidate>
      ${csrfField(request)} ${hiddenField('form_id', typed.formId)}
      ${textField({
        name: 'name',
        label: WEBHOOK_FIELDS.name.label,
        hint: 'What receives the events, such as "Chat of the web team".',
        value: typed.name,
        required: true,
        maxlength: WEBHOOK_NAME_MAX,
        autocomplete: 'off',
        error: errorOf(errors, 'name'),
      })}
      ${textField({
        name: 'url',
        label: WEBHOOK_FIELDS.url.label,
        hint: 'The URL that receives the events. Use https to keep them private.',
        type: 'url',
        value: typed.url,
        required: true,
        autocomplete: 'off',
        error: errorOf(errors, 'url'),
      })}
      ${choices({
        name: 'events',
        label: WEBHOOK_FIELDS.events.label,
        type: 'checkbox',
        values: typed.events,
        choices: WEBHOOK_EVENTS.map((event) => ({ value: event, text: event, hint: MEANINGS[event] })),
        error: errorOf(errors, 'events'),
      })}
      ${choices({
        name: 'format',
        label: WEBHOOK_FIELDS.format.label,
        type: 'radio',
        required: true,
        values: [typed.format],
        choices: [
          { value: 'json', text: 'JSON', hint: 'The event, signed as Standard Webhooks defines it.' },
          { value: 'slack', text: 'Slack', hint: 'A message for an incoming webhook of Slack.' },
        ],
        error: errorOf(errors, 'format'),
      })}
      ${textField({
        name: 'credits_below',
        label: WEBHOOK_FIELDS.credits_below.label,
        hint: 'credits.low is sent when fewer credits than this can be used.',
        inputmode: 'numeric',
        width: 'short',
        value: typed.creditsBelow,
        required: true,
        error: errorOf(errors, 'credits_below'),
      })}
      ${actions(button({ text: 'Create webhook', kind: 'primary' }), linkButton({ text: 'Cancel', href: WEBHOOKS_PATH, kind: 'quiet' }))}
    </form>`;
  return titledPage({ ...FRAME, request, title: 'Create a webhook', errors, body });
}

/** @param before until when requests have a signature of the secret before, too; null for a new webhook */
function secretPage(request: FastifyRequest, webhook: Webhook, secret: string, before: string | null): Html {
  const body = html`${notice({
    kind: 'warn',
    title: 'Copy the secret now',
    body: 'It is shown on this page only, and never again. If it is lost, replace it.',
    announce: true,
  })}
    <div data-secret data-forgotten="The secret is not shown any more.">
      ${code({ id: 'webhook-secret', text: secret, label: 'Secret', inline: true })}
    </div>
    ${definitions([
      ['Name', webhook.name],
      ['Address', hostOf(webhook)],
      ['Events', webhook.events.join(', ')],
    ])}
    <p>The receiver verifies the signature of each request with the secret. ${before}</p>
    <p>${linkButton({ text: 'I have saved the secret', href: `${WEBHOOKS_PATH}/${webhook.id}` })}</p>`;
  const title = before === null ? 'Your new webhook' : 'The new secret of the webhook';
  return titledPage({ ...FRAME, request, title, body, scripts: ['forget-secret.js'] });
}

/** The form was sent again, as by a reload. */
function webhookCreatedPage(request: FastifyRequest): Html {
  const body = html`<p class="lead">This form has created a webhook, and its secret is shown only once. No second webhook was created.</p>
    <p>If you have not saved the secret, open the webhook in the ${link('list of webhooks', WEBHOOKS_PATH)}, and replace it.</p>
    ${actions(linkButton({ text: 'Show the webhooks', href: WEBHOOKS_PATH, kind: 'primary' }))}`;
  return titledPage({ ...FRAME, request, title: 'The webhook was created before', body });
}
