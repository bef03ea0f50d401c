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
import { csrfField, errorOf, postForm, titledPage } from '../forms.ts';
import { CODE, passkeyForm } from './proof.ts';
import { t } from '../../web/texts.ts';

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

const trail = () => [
  { text: t`Account`, href: '/dashboard/account' },
  { text: t`Second factor`, href: FACTORS_PATH },
];
const factorPage = (page: FactorPage): Html => titledPage({ ...page, active: 'account', trail: trail(), narrow: true });

const back = () => linkButton({ text: t`Cancel`, href: FACTORS_PATH, kind: 'quiet' });

const nameField = (value: string, errors: readonly FormError[]): Html =>
  textField({
    name: NAME,
    label: t`Name`,
    hint: t`So that you recognise it, such as "Work laptop" or "Blue security key".`,
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
    title: t`Add a passkey`,
    errors,
    scripts: ['passkey.js'],
    body: html`<p class="lead">${t`A passkey is kept by your device, your password manager or a security key. Websites that imitate this one cannot use it.`}</p>
      ${passkeyForm({
        action: NEW_PASSKEY_PATH,
        csrfToken: request.viewer!.csrfToken,
        kind: 'create',
        options,
        fields: nameField(name, errors),
        text: t`Add passkey`,
        otherwise: t`Set up an authenticator app instead.`,
      })}
      ${actions(back())}`,
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

const LAST = (): string =>
  t`It is your last second factor: signing in will need your password only, and your recovery codes are deleted too.`;

/** One passkey: rename and remove it. */
export function passkeyPage({ request, passkey, usable, last, name = passkey.name, errors = [] }: PasskeyPage): Html {
  const path = passkeyPath(passkey.id);
  return factorPage({
    request,
    title: passkey.name,
    errors,
    body: html`${definitions([
      [t`Added`, time(passkey.createdAt)],
      [t`Last used`, passkey.lastUsedAt === null ? t`Never` : time(passkey.lastUsedAt)],
      [t`Works at`, usable ? passkey.rpId : t`${passkey.rpId}, which is not the address of this service any more`],
    ])}
      ${postForm(request, path, html`${nameField(name, errors)} ${button({ text: t`Save name` })}`)}
      <h2>${t`Remove this passkey`}</h2>
      <p>${last ? LAST() : t`You can sign in with your other factors.`} ${t`The passkey stays on your device; delete it there too.`}</p>
      ${confirmedForm({
        id: 'remove',
        action: `${path}/remove`,
        fields: csrfField(request),
        trigger: { text: t`Remove passkey`, kind: 'danger' },
        title: t`Remove ${passkey.name}?`,
        text: last ? LAST() : t`You cannot sign in with it any more.`,
        confirm: t`Remove passkey`,
        cancel: t`Cancel`,
      })}
      <p>${link(t`Back to your second factors`, FACTORS_PATH)}</p>`,
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
    title: t`Set up an authenticator app`,
    errors,
    body: html`<ol>
        <li>${t`Open your authenticator app, and add an account: scan the QR code, or enter the key.`}</li>
        <li>${t`Enter the code that the app shows.`}</li>
      </ol>
      ${qrCode(address, t`QR code with the key below`)}
      <h2>${t`Key`}</h2>
      <div data-secret data-forgotten="${t`The key is not shown any more.`}">${code({ id: 'totp-key', text, label: t`Key`, inline: true })}</div>
      <p class="hint">${t`Account ${email}, time-based, 6 digits, 30 seconds.`}</p>
      <form method="post" action="${APP_PATH}" novalidate>
        ${csrfField(request)}
        ${textField({
          name: CODE,
          label: t`Code of your authenticator app`,
          hint: t`Six digits.`,
          required: true,
          autocomplete: 'one-time-code',
          inputmode: 'numeric',
          width: 'short',
          spellcheck: false,
          error: errorOf(errors, CODE),
        })}
        ${actions(button({ text: t`Confirm`, kind: 'primary' }), back())}
      </form>`,
  });
}

/** Asks before the authenticator app is removed. */
export function removeAppPage({ request, last }: { request: FastifyRequest; last: boolean }): Html {
  return factorPage({
    request,
    title: t`Remove the authenticator app?`,
    body: html`<p class="lead">${t`Its codes will not be accepted any more.`} ${last && LAST()}</p>
      ${postForm(request, `${APP_PATH}/removal`, actions(button({ text: t`Remove authenticator app`, kind: 'danger' }), back()))}`,
  });
}

/** New recovery codes, which are shown once. @param added what was set up with them; null: the codes replace earlier ones */
export function codesPage({ request, codes, added }: { request: FastifyRequest; codes: readonly string[]; added: string | null }): Html {
  return factorPage({
    request,
    title: t`Your recovery codes`,
    body: html`${added !== null && notice({ kind: 'good', body: added, announce: true })}
      ${notice({
        kind: 'warn',
        title: t`Save the codes now`,
        body: html`${t`They are shown on this page only, and never again.`} ${added === null && t`The earlier codes do not work any more.`} ${t`Keep them where you have them if you lose your device: each code replaces it once.`}`,
      })}
      <div class="recovery-codes" data-secret data-forgotten="${t`The codes are not shown any more.`}">
        ${code({ id: 'recovery-codes', text: codes.join('\n'), label: t`Recovery codes` })}
      </div>
      <p>${linkButton({ text: t`I have saved the codes`, href: FACTORS_PATH, kind: 'primary' })}</p>`,
  });
}
