/** The page that asks before a key is revoked, and says what stops working. */
import type { FastifyRequest } from 'fastify';
import { statusOf, type ApiKey } from '../../../stores/accounts/keys.ts';
import { actions, badge, button, definitions, linkButton, notice, time } from '../../web/components/index.ts';
import { html, type Html } from '../../web/html.ts';
import { csrfField } from '../forms.ts';
import type { ActorNames } from '../actor-names.ts';
import { endOf, KEYS_PATH, lastUse, scopesText } from './list-page.ts';
import { titledPage } from '../titled-page.ts';

/** A key that was used within this time is probably still in use. */
const IN_USE_DAYS = 7;

export function revokeKeyPage({ request, key, names, now }: { request: FastifyRequest; key: ApiKey; names: ActorNames; now: Date }): Html {
  const live = statusOf(key, now) === 'live';
  const title = live ? 'Revoke this API key?' : 'This API key is not live';
  const body = html`${definitions([
    ['Name', key.name],
    ['Key', html`${endOf(key)} ${key.test && badge('plain', 'Test')}`],
    ['Scopes', scopesText(key)],
    ['Created', time(key.createdAt)],
    ['Created by', names(key.createdBy)],
    ['Last used', lastUse(key)],
  ])}
    ${live ? confirmation(request, key, now) : html`<p>Nothing can use it any more.</p>${linkButton({ text: 'Show the API keys', href: KEYS_PATH })}`}`;
  return titledPage({ request, title, active: 'api-keys', trail: [{ text: 'API keys', href: KEYS_PATH }], narrow: true, body });
}

const confirmation = (request: FastifyRequest, key: ApiKey, now: Date): Html =>
  html`${notice(consequence(key, now))}
    <form method="post" action="${KEYS_PATH}/${key.id}/revoke">
      ${csrfField(request)}
      ${actions(button({ text: 'Revoke key', kind: 'danger' }), linkButton({ text: 'Keep it', href: KEYS_PATH, kind: 'quiet' }))}
    </form>`;

function consequence({ lastUsedAt }: ApiKey, now: Date): Parameters<typeof notice>[0] {
  const effect = 'Revoking takes effect at once and cannot be undone. Event streams that were opened with the key end.';
  if (lastUsedAt === null) return { kind: 'note', title: 'The key was never used', body: effect };
  const recent = now.getTime() - lastUsedAt.getTime() < IN_USE_DAYS * 86_400_000;
  return recent
    ? {
        kind: 'warn',
        title: 'The key seems to be in use',
        body: html`It was last used on ${time(lastUsedAt)}. What uses it will get 401. ${effect}`,
      }
    : { kind: 'note', title: `The key was not used for more than ${IN_USE_DAYS} days`, body: effect };
}
