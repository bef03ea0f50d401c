/** The pages of a person's second factors. */
import type { FastifyRequest } from 'fastify';
import { toBase32, totpAddress } from '../../../core/totp.ts';
import { PASSKEY_NAME_MAX, type StoredPasskey } from '../../../stores/accounts/second-factor-steps.ts';
import { FACTORS_PATH } from '../../accounts/sessions/require-session.ts';
import {
  actions,
  button,
  code,
  confirmedForm,
  definitions,
  type FormError,
  link,
  linkButton,
  notice,
  qrCode,
  textField,
  time,
} from '../../web/components.ts';
import { html, type Html, type HtmlValue } from '../../../report/html/html.ts';
import { csrfField, errorOf, titledPage } from '../forms.ts';
import { CODE, passkeyForm } from './proof.ts';

export const NAME = 'name';
export const APP_PATH = `${FACTORS_PATH}/app`;
export const NEW_PASSKEY_PATH = `${FACTORS_PATH}/passkeys/new`;
export const CODES_PATH = `${FACTORS_PATH}/recovery-codes`;
export const passkeyPath = (id: string): string => `${FACTORS_PATH}/passkeys/${encodeURIComponent(id)}`;

interface FactorPage {
  request: FastifyRequest;
  title: string;
  errors?: readonly FormError[];
  body: HtmlValue;
  scripts?: readonly string[];
}

const TRAIL = [
  { text: 'Account', href: '/dashboard/account' },
  { text: 'Second factor', href: FACTORS_PATH },
];
const factorPage = (page: FactorPage): Html => titledPage({ ...page, active: 'account', trail: TRAIL, narrow: true });

const back = linkButton({ text: 'Cancel', href: FACTORS_PATH, kind: 'quiet' });

const nameField = (value: string, errors: readonly FormError[]): Html =>
  textField({
    name: NAME,
    label: 'Name',
    hint: 'So that you recognise it, such as "Work laptop" or "Blue security key".',
    value,
    required: true,
    maxlength: PASSKEY_NAME_MAX,
    width: 'medium',
    autocomplete: 'off',
    error: errorOf(errors, NAME),
  });

/** @param options what to ask the browser */
export function newPasskeyPage(page: { request: FastifyRequest; options: string; name: string; errors?: readonly FormError[] }): Html {
  const { request, options, name, errors = [] } = page;
  return factorPage({
    request,
    title: 'Add a passkey',
    errors,
    scripts: ['passkey.js'],
    body: html`<p class="lead">A passkey is kept by your device, your password manager or a security key. Websites that imitate this one cannot use it.</p>
      ${passkeyForm({
        action: NEW_PASSKEY_PATH,
        csrfToken: request.viewer!.csrfToken,
        kind: 'create',
        options,
        fields: nameField(name, errors),
        text: 'Add passkey',
        otherwise: 'Set up an authenticator app instead.',
      })}
      ${actions(back)}`,
  });
}

interface PasskeyPage {
  request: FastifyRequest;
  passkey: StoredPasskey;
  usable: boolean;
  last: boolean;
  name?: string;
  errors?: readonly FormError[];
}

const LAST = 'It is your last second factor: signing in will need your password only, and your recovery codes are deleted too.';

/** One passkey: rename and remove it. */
export function passkeyPage({ request, passkey, usable, last, name = passkey.name, errors = [] }: PasskeyPage): Html {
  const path = passkeyPath(passkey.id);
  return factorPage({
    request,
    title: passkey.name,
    errors,
    body: html`${definitions([
      ['Added', time(passkey.createdAt)],
      ['Last used', passkey.lastUsedAt === null ? 'Never' : time(passkey.lastUsedAt)],
      ['Works at', usable ? passkey.rpId : `${passkey.rpId}, which is not the address of this service any more`],
    ])}
      <form method="post" action="${path}" novalidate>${csrfField(request)} ${nameField(name, errors)} ${button({ text: 'Save name' })}</form>
      <h2>Remove this passkey</h2>
      <p>${last ? LAST : 'You can sign in with your other factors.'} The passkey stays on your device; delete it there too.</p>
      ${confirmedForm({
        id: 'remove',
        action: `${path}/remove`,
        fields: csrfField(request),
        trigger: { text: 'Remove passkey', kind: 'danger' },
        title: `Remove ${passkey.name}?`,
        text: last ? LAST : 'You cannot sign in with it any more.',
        confirm: 'Remove passkey',
        cancel: 'Cancel',
      })}
      <p>${link('Back to your second factors', FACTORS_PATH)}</p>`,
  });
}

/** The key of an authenticator app, and the field for its first code. */
export function appPage({
  request,
  secret,
  errors = [],
}: {
  request: FastifyRequest;
  secret: Uint8Array;
  errors?: readonly FormError[];
}): Html {
  const { email } = request.viewer!;
  const address = totpAddress({ issuer: 'Curbcut', account: email, secret });
  const text = toBase32(secret)
    .match(/.{1,4}/g)!
    .join(' ');
  return factorPage({
    request,
    title: 'Set up an authenticator app',
    errors,
    body: html`<ol>
        <li>Open your authenticator app, and add an account: scan the QR code, or enter the key.</li>
        <li>Enter the code that the app shows.</li>
      </ol>
      ${qrCode(address, 'QR code with the key below')}
      <h2>Key</h2>
      <div data-secret data-forgotten="The key is not shown any more.">${code({ id: 'totp-key', text, label: 'Key', inline: true })}</div>
      <p class="hint">Account ${email}, time-based, 6 digits, 30 seconds.</p>
      <form method="post" action="${APP_PATH}" novalidate>
        ${csrfField(request)}
        ${textField({
          name: CODE,
          label: 'Code of your authenticator app',
          hint: 'Six digits.',
          required: true,
          autocomplete: 'one-time-code',
          inputmode: 'numeric',
          width: 'short',
          spellcheck: false,
          error: errorOf(errors, CODE),
        })}
        ${actions(button({ text: 'Confirm', kind: 'primary' }), back)}
      </form>`,
  });
}

/** Asks before the authenticator app is removed. */
export function removeAppPage({ request, last }: { request: FastifyRequest; last: boolean }): Html {
  return factorPage({
    request,
    title: 'Remove the authenticator app?',
    body: html`<p class="lead">Its codes will not be accepted any more. ${last && LAST}</p>
      <form method="post" action="${APP_PATH}/removal">
        ${csrfField(request)} ${actions(button({ text: 'Remove authenticator app', kind: 'danger' }), back)}
      </form>`,
  });
}

/** New recovery codes, which are shown once. @param added what was set up with them; null: the codes replace earlier ones */
export function codesPage({ request, codes, added }: { request: FastifyRequest; codes: readonly string[]; added: string | null }): Html {
  return factorPage({
    request,
    title: 'Your recovery codes',
    body: html`${added !== null && notice({ kind: 'good', body: added, announce: true })}
      ${notice({
        kind: 'warn',
        title: 'Save the codes now',
        body: html`They are shown on this page only, and never again.${added === null && ' The earlier codes do not work any more.'} Keep them where you
        have them if you lose your device: each code replaces it once.`,
      })}
      <div class="recovery-codes" data-secret data-forgotten="The codes are not shown any more.">
        ${code({ id: 'recovery-codes', text: codes.join('\n'), label: 'Recovery codes' })}
      </div>
      <p>${linkButton({ text: 'I have saved the codes', href: FACTORS_PATH, kind: 'primary' })}</p>`,
  });
}
