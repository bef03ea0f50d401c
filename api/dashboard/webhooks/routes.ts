/** Settings → Webhooks: the list, creating a webhook, its page, and what is done there. */
import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { WEBHOOKS_PATH } from '../../../core/web-paths.ts';
import { CREDITS_BELOW_DEFAULT, type WebhookEvent, type WebhookFormat } from '../../../core/webhooks/webhooks.ts';
import { storesOf } from '../../accounts/scoped-stores.ts';
import { ApiError, messageOf, statusOf, ValidationFailure } from '../../http/errors.ts';
import { decodeCursor, pageOf } from '../../http/pagination.ts';
import { compileValidator } from '../../http/validation.ts';
import { formOf } from '../../web/html-scope.ts';
import { createWebhookManagement, type WebhookManagementDeps } from '../../webhooks/management.ts';
import { NewWebhook } from '../../webhooks/schemas.ts';
import { actorNames } from '../actor-names.ts';
import { formIdOf, idOfForm } from '../form-ids.ts';
import { doneOf, formErrors } from '../forms.ts';
import { createWebhookPage, secretPage, webhookCreatedPage, type TypedWebhook, WEBHOOK_FIELDS } from './create-page.ts';
import { webhookListPage } from './list-page.ts';
import { webhookPage } from './webhook-page.ts';

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
