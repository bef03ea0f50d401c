/** Settings → Webhooks: the list, creating a webhook, its page, and what is done there. */
import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { WEBHOOKS_PATH } from '../../../core/web-paths.ts';
import { hostOf, WEBHOOK_EVENTS, type WebhookEvent } from '../../../core/webhooks/webhooks.ts';
import { storesOf } from '../../accounts/scoped-stores.ts';
import { decodeCursor, pageOf } from '../../http/pagination.ts';
import { formOf } from '../../web/html-scope.ts';
import {
  changeWebhook,
  createWebhook,
  findWebhook,
  removeWebhook,
  replayDelivery,
  rotateSecret,
  testWebhook,
} from '../../webhooks/management.ts';
import { NewWebhook } from '../../webhooks/schemas.ts';
import { answerForm, schemaForm, type Typed } from '../schema-form.ts';
import { actorNames } from '../names.ts';
import { csrfField, doneOf, formIdOf, idOfForm, titledPage } from '../forms.ts';
import type { Webhook } from '../../../stores/webhooks/webhooks.ts';
import { actions, button, code, definitions, type FormError, hiddenField, link, linkButton, notice } from '../../web/components.ts';
import { html, type Html } from '../../../report/html/html.ts';
import { webhookListPage, webhookPage } from './webhook-pages.ts';
import { m, t, tr } from '../../web/texts.ts';

const PERMISSION = { config: { permission: 'webhooks:write' } } as const;
const ONE = `${WEBHOOKS_PATH}/:webhook_id`;
const PER_PAGE = 20;
const DONE = {
  deleted: m`The webhook was deleted.`,
  enabled: m`The webhook is enabled.`,
  disabled: m`The webhook is disabled. What waited for delivery is canceled.`,
  test: m`A test is on its way. Reload the page to see what became of it.`,
  replay: m`The delivery is sent again. Reload the page to see what became of it.`,
};
const BOTH_SIGN = m`For 24 hours, requests also have a signature of the secret before.`;

const ONE_SIGNS = m`Until it has this one, it refuses requests: those before it sign no more.`;

type One = { Params: { webhook_id: string } };
type OneDelivery = { Params: { webhook_id: string; delivery_id: string } };

export const webhookPages: FastifyPluginAsync = async (scope) => {
  const back = (reply: FastifyReply, done: keyof typeof DONE, id?: string) =>
    reply.redirect(`${WEBHOOKS_PATH}${id === undefined ? '' : `/${id}`}?done=${done}`, 303);

  scope.get(WEBHOOKS_PATH, PERMISSION, async (request, reply) => {
    const webhooks = await storesOf(request).webhooks.list();
    const names = await actorNames(storesOf(request), webhooks, ({ createdBy }) => createdBy);
    return reply.page(webhookListPage({ request, webhooks, names, done: doneOf(request, DONE), on: scope.settings.webhooks }));
  });

  scope.get(`${WEBHOOKS_PATH}/new`, PERMISSION, async (request, reply) => {
    const typed = WEBHOOK_FORM.initial({ events: ['scan.completed', 'scan.failed'] });
    return reply.page(createWebhookPage({ request, typed, formId: randomUUID(), errors: [] }));
  });

  scope.post(`${WEBHOOKS_PATH}/new`, PERMISSION, (request, reply) => {
    const form = formOf(request.body);
    const [typed, formId] = [WEBHOOK_FORM.read(form), formIdOf(form)];
    return answerForm(reply, {
      fields: WEBHOOK_FORM.fields,
      refusals: ['too_many_webhooks', 'webhooks_off'],
      page: (errors) => createWebhookPage({ request, typed, formId, errors }),
      async act() {
        const { credits_below: creditsBelow, ...wanted } = WEBHOOK_FORM.check(WEBHOOK_FORM.body(typed));
        const created = await createWebhook(request, { ...wanted, creditsBelow, id: idOfForm(request, formId) });
        if (created === null) return reply.page(webhookCreatedPage(request));
        return reply.page(secretPage(request, created.webhook, created.secret, null), { status: 201 });
      },
    });
  });

  scope.get<One>(ONE, PERMISSION, async (request, reply) => {
    const webhook = await findWebhook(request, request.params.webhook_id);
    const { cursor } = request.query as { cursor?: string };
    const found = await storesOf(request).deliveries.list(webhook.id, { after: decodeCursor(cursor), limit: PER_PAGE + 1 });
    const { items: deliveries, nextCursor } = pageOf(found, PER_PAGE, (one) => ({ at: one.createdAt, id: one.id }));
    const state = { first: cursor === undefined, nextCursor, done: doneOf(request, DONE), on: scope.settings.webhooks };
    const names = await actorNames(storesOf(request), [webhook], ({ createdBy }) => createdBy);
    return reply.page(webhookPage({ request, webhook, names, deliveries, ...state }));
  });

  scope.post<One>(`${ONE}/rotate`, PERMISSION, async (request, reply) => {
    const leaked = formOf(request.body).text('leaked') !== '';
    const { webhook, secret } = (await rotateSecret(request, request.params.webhook_id, !leaked))!;
    return reply.page(secretPage(request, webhook, secret, leaked ? ONE_SIGNS : BOTH_SIGN));
  });

  scope.post<One>(`${ONE}/delete`, PERMISSION, async (request, reply) => {
    await removeWebhook(request, request.params.webhook_id);
    return back(reply, 'deleted');
  });

  for (const [action, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const)
    scope.post<One>(`${ONE}/${action}`, PERMISSION, async (request, reply) => {
      const { id } = await changeWebhook(request, request.params.webhook_id, { enabled });
      return back(reply, `${action}d`, id);
    });

  scope.post<One>(`${ONE}/test`, PERMISSION, async (request, reply) => {
    const { webhook } = await testWebhook(request, request.params.webhook_id);
    return back(reply, 'test', webhook);
  });

  scope.post<OneDelivery>(`${ONE}/deliveries/:delivery_id/replay`, PERMISSION, async (request, reply) => {
    const { webhook_id: id, delivery_id: delivery } = request.params;
    const { webhook } = await replayDelivery(request, id, delivery);
    return back(reply, 'replay', webhook);
  });
};

const FRAME = { active: 'webhooks', trail: [{ text: m`Webhooks`, href: WEBHOOKS_PATH }], narrow: true } as const;

const MEANINGS: Readonly<Record<WebhookEvent, string>> = {
  'scan.completed': m`A scan is done, whether or not it passed.`,
  'scan.failed': m`A scan failed or was canceled.`,
  'schedule.regressed': m`The last scan of a schedule is worse than the one before it.`,
  'credits.low': m`Few credits are left.`,
};

export const WEBHOOK_FORM = schemaForm(NewWebhook, {
  name: { label: m`Name`, hint: m`What receives the events, such as "Chat of the web team".`, enter: m`Enter a name.` },
  url: {
    label: m`Address`,
    hint: m`The URL that receives the events. Use https to keep them private.`,
    enter: m`Enter an absolute URL, such as https://example.com/hook.`,
  },
  events: {
    label: m`Events`,
    enter: m`Choose at least one event.`,
    choices: WEBHOOK_EVENTS.map((event) => ({ value: event, text: event, hint: MEANINGS[event] })),
  },
  format: {
    label: m`Format`,
    choices: [
      { value: 'json', text: 'JSON', hint: m`The event, signed as Standard Webhooks defines it.` },
      { value: 'slack', text: 'Slack', hint: m`A message for an incoming webhook of Slack.` },
      { value: 'teams', text: 'Microsoft Teams', hint: m`A card for the workflow "Post to a channel when a webhook request is received".` },
      { value: 'mattermost', text: 'Mattermost', hint: m`A message for an incoming webhook of Mattermost.` },
    ],
  },
  credits_below: {
    label: m`Credits`,
    hint: m`credits.low is sent when fewer credits than this can be used.`,
    enter: m`Enter a whole number.`,
  },
});

interface CreateWebhookPage {
  request: FastifyRequest;
  typed: Typed;
  /** Identifies the form, so that sending it twice creates one webhook. */
  formId: string;
  errors: readonly FormError[];
}

function createWebhookPage({ request, typed, formId, errors }: CreateWebhookPage): Html {
  const body = html`<form method="post" action="${WEBHOOKS_PATH}/new" novalidate>
    ${csrfField(request)} ${hiddenField('form_id', formId)} ${WEBHOOK_FORM.controls(typed, errors)}
    ${actions(button({ text: t`Create webhook`, kind: 'primary' }), linkButton({ text: t`Cancel`, href: WEBHOOKS_PATH, kind: 'quiet' }))}
  </form>`;
  return titledPage({ ...FRAME, request, title: t`Create a webhook`, errors, body });
}

/** @param before what holds for the secret before; null for a new webhook */
function secretPage(request: FastifyRequest, webhook: Webhook, secret: string, before: string | null): Html {
  const body = html`${notice({
    kind: 'warn',
    title: t`Copy the secret now`,
    body: t`It is shown on this page only, and never again. If it is lost, replace it.`,
    announce: true,
  })}
    <div data-secret data-forgotten="${t`The secret is not shown any more.`}">
      ${code({ id: 'webhook-secret', text: secret, label: t`Secret`, inline: true })}
    </div>
    ${definitions([
      [t`Name`, webhook.name],
      [t`Address`, hostOf(webhook)],
      [t`Events`, webhook.events.join(', ')],
    ])}
    <p>${t`The receiver verifies the signature of each request with the secret.`} ${before !== null && tr(before)}</p>
    <p>${linkButton({ text: t`I have saved the secret`, href: `${WEBHOOKS_PATH}/${webhook.id}` })}</p>`;
  const title = before === null ? t`Your new webhook` : t`The new secret of the webhook`;
  return titledPage({ ...FRAME, request, title, body });
}

/** The form was sent again, as by a reload. */
function webhookCreatedPage(request: FastifyRequest): Html {
  const body = html`<p class="lead">${t`This form has created a webhook, and its secret is shown only once. No second webhook was created.`}</p>
    <p>${t`If you have not saved the secret, open the webhook in the ${link(t`list of webhooks`, WEBHOOKS_PATH)}, and replace it.`}</p>
    ${actions(linkButton({ text: t`Show the webhooks`, href: WEBHOOKS_PATH, kind: 'primary' }))}`;
  return titledPage({ ...FRAME, request, title: t`The webhook was created before`, body });
}
