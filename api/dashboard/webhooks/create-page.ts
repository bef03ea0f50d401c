/** The form that creates a webhook, and the page that shows its secret once. */
import type { FastifyRequest } from 'fastify';
import { WEBHOOKS_PATH } from '../../../core/web-paths.ts';
import { hostOf, WEBHOOK_EVENTS, WEBHOOK_NAME_MAX, type WebhookEvent } from '../../../core/webhooks/webhooks.ts';
import type { Webhook } from '../../../stores/webhooks/webhooks.ts';
import {
  actions,
  button,
  choices,
  code,
  definitions,
  hiddenField,
  link,
  linkButton,
  notice,
  textField,
  type FormError,
} from '../../web/components/index.ts';
import { html, type Html } from '../../web/html.ts';
import { csrfField, errorOf } from '../forms.ts';
import { titledPage } from '../titled-page.ts';

export interface TypedWebhook {
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

export function createWebhookPage(request: FastifyRequest, typed: TypedWebhook, errors: readonly FormError[]): Html {
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
export function secretPage(request: FastifyRequest, webhook: Webhook, secret: string, before: string | null): Html {
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
export function webhookCreatedPage(request: FastifyRequest): Html {
  const body = html`<p class="lead">This form has created a webhook, and its secret is shown only once. No second webhook was created.</p>
    <p>If you have not saved the secret, open the webhook in the ${link('list of webhooks', WEBHOOKS_PATH)}, and replace it.</p>
    ${actions(linkButton({ text: 'Show the webhooks', href: WEBHOOKS_PATH, kind: 'primary' }))}`;
  return titledPage({ ...FRAME, request, title: 'The webhook was created before', body });
}
