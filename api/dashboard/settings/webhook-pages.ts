/** The list of webhooks, and the page of one with the log of its deliveries. */
import type { FastifyRequest } from 'fastify';
import { WEBHOOKS_PATH } from '../../../core/web-paths.ts';
import { type DeliveryState, type DisabledReason, hostOf, WEBHOOKS_MAX } from '../../../core/webhooks/webhooks.ts';
import type { Webhook } from '../../../stores/webhooks/webhooks.ts';
import { ApiError, messageOf } from '../../http/errors.ts';
import {
  actions,
  badge,
  type BadgeKind,
  button,
  code,
  confirmedForm,
  definitions,
  emptyState,
  link,
  linkButton,
  notice,
  pagination,
  table,
  dateAndTime,
  time,
  hiddenField,
} from '../../web/components.ts';
import { html, type Html, type HtmlValue } from '../../../report/html/html.ts';
import type { ActorNames } from '../names.ts';
import { csrfField, postForm, titledPage } from '../forms.ts';
import type { Delivery } from '../../../stores/outbox/deliveries.ts';
import type { Attempt } from '../../../stores/outbox/entries.ts';
import { count, forms, m, t, tr } from '../../web/texts.ts';

const DISABLED: Readonly<Record<DisabledReason, string>> = { requested: m`Disabled`, gone: m`Stopped: 410`, failing: m`Stopped: failing` };

export const stateOf = ({ disabled, failingSince }: Webhook): Html => {
  if (disabled !== null) return badge(disabled.reason === 'requested' ? 'plain' : 'bad', tr(DISABLED[disabled.reason]));
  return failingSince === null ? badge('good', t`Enabled`) : badge('warn', t`Failing`);
};

/** For pages of an installation that sends none. */
export const offNotice = (): Html => notice({ kind: 'warn', title: t`Webhooks are off`, body: messageOf(new ApiError('webhooks_off')) });

export interface WebhookListPage {
  request: FastifyRequest;
  webhooks: readonly Webhook[];
  /** Of those who created them. */
  names: ActorNames;
  done: string | null;
  /** Whether the installation sends webhooks. */
  on: boolean;
}

export function webhookListPage({ request, webhooks, names, done, on }: WebhookListPage): Html {
  const body = html`<p class="lead">${t`A webhook sends events to an address of yours: a scan has ended, a schedule got worse, or few credits are left.`}</p>
    ${on ? html`<p>${linkButton({ text: t`Create a webhook`, href: `${WEBHOOKS_PATH}/new`, kind: 'primary' })}</p>` : offNotice()}
    ${
      webhooks.length === 0 && !on
        ? null
        : webhooks.length === 0
          ? emptyState({ title: t`There is no webhook yet`, text: t`Create one to get a message when a scan has ended.` })
          : table({
              id: 'webhooks',
              caption: t`Webhooks`,
              captionHidden: true,
              columns: [
                { text: t`Name` },
                { text: t`Address`, wide: true },
                { text: t`State` },
                { text: t`Events`, wide: true },
                { text: t`Declared by` },
              ],
              rows: webhooks.map((webhook) => [
                link(webhook.name, `${WEBHOOKS_PATH}/${webhook.id}`),
                hostOf(webhook),
                stateOf(webhook),
                webhook.events.join(', '),
                webhook.managedBy === 'manifest' ? t`The manifest` : names(webhook.createdBy),
              ]),
            })
    }
    <p>${t`An organisation can have ${WEBHOOKS_MAX} webhooks, in addition to those of its manifest.`}</p>`;
  return titledPage({ request, title: t`Webhooks`, active: 'webhooks', done, body });
}

interface WebhookPage {
  request: FastifyRequest;
  webhook: Webhook;
  names: ActorNames;
  deliveries: readonly Delivery[];
  /** Whether this is the first part of the log. */
  first: boolean;
  nextCursor: string | null;
  done: string | null;
  /** Whether the installation sends webhooks. */
  on: boolean;
}

export function webhookPage({ request, webhook, names, deliveries, first, nextCursor, done, on }: WebhookPage): Html {
  const path = `${WEBHOOKS_PATH}/${webhook.id}`;
  const body = html`${on ? problemOf(webhook) : offNotice()}
    ${definitions([
      [t`State`, stateOf(webhook)],
      [t`Address`, html`<span class="address">${webhook.url}</span>`],
      [t`Events`, webhook.events.join(', ')],
      [t`Format`, webhook.format],
      [t`Credits`, t`credits.low below ${webhook.creditsBelow}`],
      [t`Created`, t`${time(webhook.createdAt)} by ${names(webhook.createdBy)}`],
    ])}
    ${buttons(request, webhook, path, on)}
    <h2>${t`Deliveries`}</h2>
    <p>${t`The newest first. They are kept for 30 days.`}</p>
    ${deliveries.length === 0 ? noDeliveries(first) : deliveries.map((one) => deliveryBlock(request, one, path, on && webhook.disabled === null))}
    ${pagination({ previous: first ? null : path, next: nextCursor === null ? null : `${path}?cursor=${nextCursor}` })}`;
  const trail = [{ text: t`Webhooks`, href: WEBHOOKS_PATH }];
  return titledPage({ request, title: webhook.name, active: 'webhooks', trail, done, body });
}

const noDeliveries = (first: boolean): Html =>
  first
    ? emptyState({ title: t`Nothing was sent yet`, text: t`Send a test to see whether the address is right.` })
    : emptyState({ title: t`There are no more deliveries`, text: t`The list ended with the part before.` });

function problemOf({ disabled, failingSince, managedBy }: Webhook): HtmlValue {
  const enable =
    managedBy === 'api'
      ? t`Enable it when the receiver works again.`
      : t`Ask an administrator to enable it, or change its address in the manifest.`;
  if (disabled?.reason === 'gone')
    return notice({ kind: 'bad', title: t`The webhook is stopped`, body: t`It answered 410: ${dateAndTime(disabled.at)}. ${enable}` });
  if (disabled?.reason === 'failing')
    return notice({
      kind: 'bad',
      title: t`The webhook is stopped`,
      body: t`Every attempt failed for 5 days, until ${dateAndTime(disabled.at)}. ${enable}`,
    });
  if (disabled === null && failingSince !== null)
    return notice({ kind: 'warn', title: t`The webhook fails`, body: t`Every attempt has failed since ${dateAndTime(failingSince)}.` });
  return managedBy === 'manifest' && notice({ body: t`The manifest of the organisation declares this webhook; it is changed there.` });
}

const post = (request: FastifyRequest, action: string, text: string, hiddenText?: string): Html =>
  postForm(request, action, button({ text, hiddenText }));

function buttons(request: FastifyRequest, { managedBy, disabled, name }: Webhook, path: string, on: boolean): Html {
  const fields = csrfField(request);
  const own = managedBy === 'api';
  return actions(
    on && disabled === null && post(request, `${path}/test`, t`Send a test`),
    own && disabled === null && post(request, `${path}/disable`, t`Disable`),
    own && on && disabled !== null && post(request, `${path}/enable`, t`Enable`),
    own &&
      confirmedForm({
        id: 'rotate',
        action: `${path}/rotate`,
        fields,
        trigger: { text: t`Replace the secret` },
        title: t`Replace the secret?`,
        text: t`For 24 hours, requests have a signature of both secrets.`,
        confirm: t`Replace it`,
        cancel: t`Keep it`,
        kind: 'primary',
      }),
    own &&
      confirmedForm({
        id: 'rotate-leaked',
        action: `${path}/rotate`,
        fields: html`${fields} ${hiddenField('leaked', 'yes')}`,
        trigger: { text: t`Replace a leaked secret` },
        title: t`End the secret now?`,
        text: t`It signs no more at once. The receiver refuses requests until it has the new secret.`,
        confirm: t`End it now`,
        cancel: t`Keep it`,
      }),
    own &&
      confirmedForm({
        id: 'delete',
        action: `${path}/delete`,
        fields,
        trigger: { text: t`Delete`, kind: 'danger', hiddenText: name },
        title: t`Delete this webhook?`,
        text: t`What waits for delivery is canceled, and the log is not shown any more. It cannot be undone.`,
        confirm: t`Delete it`,
        cancel: t`Keep it`,
      }),
  );
}

const STATES: Readonly<Record<DeliveryState, [kind: BadgeKind, text: string]>> = {
  waiting: ['plain', m`Waiting`],
  delivered: ['good', m`Delivered`],
  failed: ['bad', m`Given up`],
  canceled: ['plain', m`Canceled`],
};

const ATTEMPTS = forms('{n} attempt', '{n} attempts');

/** @param sendable whether it can be sent again */
function deliveryBlock(request: FastifyRequest, delivery: Delivery, path: string, sendable: boolean): Html {
  const { id, type, state, createdAt, nextAt, attempts, message, body } = delivery;
  const [kind, text] = STATES[state];
  const next = nextAt !== null && html` ${t`Next attempt: ${dateAndTime(nextAt)}.`}`;
  return html`<details class="delivery">
    <summary>${badge(kind, tr(text))} ${type}, ${time(createdAt)}, ${count(ATTEMPTS, attempts.length)}</summary>
    <p>${t`ID ${message}.${next}`}</p>
    ${attempts.length > 0 && html`<ol>${attempts.map((attempt) => html`<li>${attemptText(attempt)}</li>`)}</ol>`}
    ${code({ id: `body-${id}`, text: body, label: t`Body`, copy: false })}
    ${sendable && post(request, `${path}/deliveries/${id}/replay`, t`Send again`, `${type} ${message}`)}
  </details>`;
}

function attemptText({ at, durationMs, statusCode, error, response }: Attempt): Html {
  const outcome = durationMs === null ? t`under way, or interrupted` : t`${statusCode ?? t`no answer`} after ${durationMs} ms`;
  return html`${time(at)}: ${outcome}.${error !== null && ` ${error}`}${response && html` <q>${response}</q>`}`;
}
