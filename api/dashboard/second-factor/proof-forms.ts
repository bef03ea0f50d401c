/** The forms with which people prove a second factor. Only passkeys need scripts. */
import { button, hiddenField, link, textField, type FormError } from '../../web/components/index.ts';
import { attributes, html, type Html, type HtmlValue } from '../../web/html.ts';
import type { Factors } from '../../../stores/accounts/second-factors.ts';
import { errorOf } from '../forms.ts';
import { CODE, CREDENTIAL } from './proof.ts';
import { addressOf } from '../../web/address.ts';

interface PasskeyForm {
  action: string;
  csrfToken: string;
  /** Whether a passkey is made or used. */
  kind: 'create' | 'get';
  /** What to ask the browser, as JSON. */
  options: string;
  /** More fields. */
  fields?: HtmlValue;
  text: string;
  /** What to do without scripts, or in a browser without passkeys. */
  otherwise: HtmlValue;
}

/** A form that asks the browser for a passkey. The script shows its button in place of the text that says what it needs. */
export const passkeyForm = ({ action, csrfToken, kind, options, fields, text, otherwise }: PasskeyForm): Html =>
  html`<form${attributes({ method: 'post', action, novalidate: true, 'data-passkey': kind, 'data-options': options })}>
    ${hiddenField('_csrf', csrfToken)} ${hiddenField(CREDENTIAL, '')} ${fields}
    <p class="field-error" role="alert" data-passkey-error data-failed="${FAILED}" data-exists="${EXISTS}"></p>
    ${button({ text, kind: 'primary', attributes: { hidden: true } })}
    <p data-passkey-unsupported>Passkeys need JavaScript, and a browser that has them. ${otherwise}</p>
  </form>`;

const FAILED = 'The browser gave no passkey: it was canceled, or it took too long. Try again, or use another way.';
const EXISTS = 'This device or security key has a passkey for your account already.';

export interface ProofForms {
  /** The address of the page, which the forms are sent to. */
  action: string;
  /** What the address of the page has as its query. */
  query?: Record<string, string>;
  csrfToken: string;
  factors: Factors;
  /** Whether the page asks for a recovery code. */
  recovery: boolean;
  /** What to ask the browser for a passkey; null if none of the account's can be used. */
  passkeyOptions: string | null;
  errors: readonly FormError[];
}

export function proofForms(options: ProofForms): Html {
  const { action, query = {}, factors, recovery, passkeyOptions } = options;
  const address = (more: Record<string, string>) => addressOf(action, { ...query, ...more });
  const others = recovery ? link('Use another way', address({})) : link('Use a recovery code', address({ way: 'recovery' }));
  if (recovery) return html`${codeForm(options, RECOVERY)}<p>${others}</p>`;
  const otherwise = factors.totp === null ? 'Use a recovery code.' : 'Use your authenticator app or a recovery code.';
  return html`${
    passkeyOptions !== null &&
    html`<h2>Passkey</h2>
        ${passkeyForm({
          action,
          csrfToken: options.csrfToken,
          kind: 'get',
          options: passkeyOptions,
          fields: [hiddenField('way', 'passkey'), ...Object.entries(query).map(([name, value]) => hiddenField(name, value))],
          text: 'Use passkey',
          otherwise,
        })}`
  }
    ${
      passkeyOptions === null &&
      factors.passkeys.length > 0 &&
      html`<p>Your passkeys cannot be used at this address of the service. ${otherwise}</p>`
    }
    ${factors.totp !== null && html`${passkeyOptions !== null && html`<h2>Authenticator app</h2>`}${codeForm(options, TOTP)}`}
    <p>${others}</p>`;
}

const TOTP = {
  way: 'totp',
  label: 'Code of your authenticator app',
  hint: 'Six digits, which change every 30 seconds.',
  autocomplete: 'one-time-code',
  inputmode: 'numeric',
  width: 'short',
} as const;
const RECOVERY = {
  way: 'recovery',
  label: 'Recovery code',
  hint: 'Each code works once. Capital letters, spaces and hyphens do not matter.',
  autocomplete: 'off',
  inputmode: undefined,
  width: 'medium',
} as const;

function codeForm({ action, query = {}, csrfToken, errors, passkeyOptions }: ProofForms, kind: typeof TOTP | typeof RECOVERY): Html {
  const { way, label, hint, autocomplete, inputmode, width } = kind;
  return html`<form method="post" action="${action}" novalidate>
    ${hiddenField('_csrf', csrfToken)} ${hiddenField('way', way)}
    ${Object.entries(query).map(([name, value]) => hiddenField(name, value))}
    ${textField({ name: CODE, label, hint, required: true, autocomplete, inputmode, width, spellcheck: false, error: errorOf(errors, CODE) })}
    ${button({ text: 'Continue', kind: passkeyOptions === null || way === 'recovery' ? 'primary' : 'secondary' })}
  </form>`;
}
