/** The form that creates an API key, and the page that shows the key once. */
import type { FastifyRequest } from 'fastify';
import { KEY_NAME_MAX, KEY_SCOPES, SCOPE_MEANINGS } from '../../../core/accounts.ts';
import type { ApiKey } from '../../../stores/accounts/keys.ts';
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
  time,
  type FormError,
} from '../../web/components/index.ts';
import { html, type Html } from '../../web/html.ts';
import { csrfField, errorOf } from '../forms.ts';
import { KEYS_PATH, scopesText } from './list-page.ts';
import { titledPage } from '../titled-page.ts';

const TITLE = 'Create an API key';

export interface TypedKey {
  name: string;
  /** A date without a time. */
  expires: string;
  scopes: readonly string[];
  test: boolean;
  /** Identifies this form, so that sending it twice creates one key. */
  formId: string;
}

export interface CreateKeyPage {
  request: FastifyRequest;
  typed: TypedKey;
  errors: readonly FormError[];
}

export const KEY_FIELDS = {
  name: { label: 'Name', enter: 'Enter a name.' },
  expires_at: { label: 'Expires on', enter: 'Enter a date, such as 2030-01-31.', texts: { 'date.past': 'Enter a date in the future.' } },
  scopes: { label: 'Scopes', enter: 'Choose at least one scope.' },
  test: { label: 'Use' },
};

const FRAME = { active: 'api-keys', trail: [{ text: 'API keys', href: KEYS_PATH }], narrow: true } as const;

export function createKeyPage({ request, typed, errors }: CreateKeyPage): Html {
  const body = html`<form method="post" action="${KEYS_PATH}/new" novalidate>
      ${csrfField(request)} ${hiddenField('form_id', typed.formId)}
      ${textField({
        name: 'name',
        label: KEY_FIELDS.name.label,
        hint: 'What uses the key, such as "CI of the shop".',
        value: typed.name,
        required: true,
        maxlength: KEY_NAME_MAX,
        autocomplete: 'off',
        error: errorOf(errors, 'name'),
      })}
      ${textField({
        name: 'expires_at',
        label: KEY_FIELDS.expires_at.label,
        hint: 'The key stops working at 00:00 UTC on this day. Without a date it works until it is revoked.',
        type: 'date',
        width: 'medium',
        value: typed.expires,
        error: errorOf(errors, 'expires_at'),
      })}
      ${choices({
        name: 'scopes',
        label: KEY_FIELDS.scopes.label,
        hint: 'What requests with the key may do. A pipeline needs the first two.',
        type: 'checkbox',
        values: typed.scopes,
        choices: KEY_SCOPES.map((scope) => ({ value: scope, text: scope, hint: SCOPE_MEANINGS[scope] })),
        error: errorOf(errors, 'scopes'),
      })}
      ${choices({
        name: 'test',
        label: KEY_FIELDS.test.label,
        type: 'radio',
        values: [typed.test ? 'yes' : 'no'],
        choices: [
          { value: 'no', text: 'Scans of any site', hint: 'Each tested page costs one credit.' },
          {
            value: 'yes',
            text: 'Tests',
            hint: 'Scans only the demo site and loopback addresses, if this installation allows them, and costs nothing.',
          },
        ],
        error: errorOf(errors, 'test'),
      })}
      ${actions(button({ text: 'Create key', kind: 'primary' }), linkButton({ text: 'Cancel', href: KEYS_PATH, kind: 'quiet' }))}
    </form>`;
  return titledPage({ ...FRAME, request, title: TITLE, errors, body });
}

const EXPIRY = (key: ApiKey): Html => (key.expiresAt === null ? html`Never` : time(key.expiresAt));

export function newKeyPage({ request, key, secret }: { request: FastifyRequest; key: ApiKey; secret: string }): Html {
  const { publicBaseUrl } = request.server.web;
  const body = html`${notice({
    kind: 'warn',
    title: 'Copy the key now',
    body: 'It is shown on this page only, and never again. If it is lost, revoke it and create another one.',
    announce: true,
  })}
    <div data-secret data-forgotten="The key is not shown any more.">${code({ id: 'new-key', text: secret, label: 'API key', inline: true })}</div>
    ${definitions([
      ['Name', key.name],
      ['Scopes', scopesText(key)],
      ['Use', key.test ? 'Tests' : 'Scans of any site'],
      ['Expires', EXPIRY(key)],
    ])}
    <h2>Use it</h2>
    <p>Keep the key in the secrets of your CI, and give it to the command line as <code translate="no">CURBCUT_API_KEY</code>:</p>
    ${code({
      id: 'use-key',
      label: 'Commands',
      text: `export CURBCUT_URL=${publicBaseUrl}\nread -rs CURBCUT_API_KEY && export CURBCUT_API_KEY\ncurbcut scan https://example.com/ --min-score 90`,
    })}
    <p>${linkButton({ text: 'I have saved the key', href: KEYS_PATH })}</p>`;
  return titledPage({ ...FRAME, request, title: 'Your new API key', body, scripts: ['forget-secret.js'] });
}

/** The form was sent again, as by a reload. */
export function alreadyCreatedPage(request: FastifyRequest): Html {
  const body = html`<p class="lead">This form has created a key, and the key is shown only once. No second key was created.</p>
    <p>If you have not saved the key, revoke it in the ${link('list of API keys', KEYS_PATH)}, and create another one.</p>
    ${actions(linkButton({ text: 'Show the API keys', href: KEYS_PATH, kind: 'primary' }), linkButton({ text: TITLE, href: `${KEYS_PATH}/new` }))}`;
  return titledPage({ ...FRAME, request, title: 'The key was created before', body });
}
