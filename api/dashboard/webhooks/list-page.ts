/** The list of webhooks. */
import type { FastifyRequest } from 'fastify';
import { WEBHOOKS_PATH } from '../../../core/web-paths.ts';
import { hostOf, WEBHOOKS_MAX, type DisabledReason } from '../../../core/webhooks/webhooks.ts';
import type { Webhook } from '../../../stores/webhooks/webhooks.ts';
import { ApiError, messageOf } from '../../http/errors.ts';
import { badge, emptyState, link, linkButton, notice, table } from '../../web/components/index.ts';
import { html, type Html } from '../../web/html.ts';
import type { ActorNames } from '../actor-names.ts';
import { titledPage } from '../titled-page.ts';

const DISABLED: Readonly<Record<DisabledReason, string>> = { requested: 'Disabled', gone: 'Stopped: 410', failing: 'Stopped: failing' };

export const stateOf = ({ disabled, failingSince }: Webhook): Html => {
  if (disabled !== null) return badge(disabled.reason === 'requested' ? 'plain' : 'bad', DISABLED[disabled.reason]);
  return failingSince === null ? badge('good', 'Enabled') : badge('warn', 'Failing');
};

/** For pages of an installation that sends none. */
export const offNotice = (): Html => notice({ kind: 'warn', title: 'Webhooks are off', body: messageOf(new ApiError('webhooks_off')) });

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
  const body = html`<p class="lead">A webhook sends events to an address of yours: a scan has ended, a schedule got worse, or few credits are left.</p>
    ${on ? html`<p>${linkButton({ text: 'Create a webhook', href: `${WEBHOOKS_PATH}/new`, kind: 'primary' })}</p>` : offNotice()}
    ${
      webhooks.length === 0 && !on
        ? null
        : webhooks.length === 0
          ? emptyState({ title: 'There is no webhook yet', text: 'Create one to get a message when a scan has ended.' })
          : table({
              id: 'webhooks',
              caption: 'Webhooks',
              captionHidden: true,
              columns: [
                { text: 'Name' },
                { text: 'Address', wide: true },
                { text: 'State' },
                { text: 'Events', wide: true },
                { text: 'Declared by' },
              ],
              rows: webhooks.map((webhook) => [
                link(webhook.name, `${WEBHOOKS_PATH}/${webhook.id}`),
                hostOf(webhook),
                stateOf(webhook),
                webhook.events.join(', '),
                webhook.managedBy === 'manifest' ? 'The manifest' : names(webhook.createdBy),
              ]),
            })
    }
    <p>An organisation can have ${WEBHOOKS_MAX} webhooks, in addition to those of its manifest.</p>`;
  return titledPage({ request, title: 'Webhooks', active: 'webhooks', done, body });
}
