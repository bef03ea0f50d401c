/** The forms with which users prove a second factor, and their verification: at sign-in, and before changes of factors. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SecondFactor } from '../../../stores/accounts/second-factor-steps.ts';
import type { RateLimitRule } from '../../../stores/rate-limits.ts';
import type { ApiStores } from '../../dependencies.ts';
import { networkOf } from '../../http/networks/networks.ts';
import type { LimitSize } from '../../http/rate-limits.ts';
import { button, type FormError, hiddenField, link, textField } from '../../web/components.ts';
import { formOf } from '../../web/html-scope.ts';
import { errorOf, mustWait } from '../forms.ts';
import { recordForUser } from '../audit.ts';
import { addressOf, attributes, html, type Html, type HtmlValue } from '../../../report/html/html.ts';
import type { Factors } from '../../../stores/accounts/second-factors.ts';
import { passkeysOf } from './passkeys.ts';
import { m, t, tr } from '../../web/texts.ts';

/** Names of fields. A page never repeats fields whose names contain `password` (form-expired-page.ts). */
export const CODE = 'one-time-password';
export const CREDENTIAL = 'passkey-password';

/** Limits of attempts. A stranger gets this far only with the password, so the account's own networks count too. */
export const SECOND_FACTOR_LIMITS = {
  /** Attempts of one client address on one account. */
  'second-factor': { limit: 10, windowSeconds: 900 },
  /** Codes tried on one account: 20 an hour find one of 1,000,000 codes, three of which are valid, in two years. */
  'second-factor-account': { limit: 20, windowSeconds: 3600 },
} as const satisfies Record<string, LimitSize>;

export interface Attempt {
  email: string;
  /** The subject of the challenges of this page. */
  subject: string;
}

export type Proof = { ok: true; factor: SecondFactor } | { ok: false; error: FormError; status: 422 | 429 };

const WAYS = ['passkey', 'totp', 'recovery'] as const satisfies readonly SecondFactor[];

/** Which factor a form proves. */
export const wayOf = (text: unknown): SecondFactor => WAYS.find((one) => one === text) ?? 'totp';

const TEXTS = {
  passkey: 'This passkey was not accepted. Try again, or use another way.',
  copied: 'This passkey seems to have been copied: its counter did not rise. It was not accepted. Use another way, and remove it.',
  totp: 'This code is not correct. Codes change every 30 seconds; check that the clock of your device is right.',
  used: 'This code was used before. Wait for the next one.',
  recovery: 'This recovery code is not correct, or it was used before.',
  empty: { totp: 'Enter the code of your authenticator app.', recovery: 'Enter one of your recovery codes.' },
} as const;

/** Verifies what a form proves, counts the attempt, and records the outcome. */
export async function prove(request: FastifyRequest, reply: FastifyReply, attempt: Attempt): Promise<Proof> {
  const form = formOf(request.body);
  const way = wayOf(form.text('way'));
  const field = way === 'passkey' ? null : CODE;
  if (way !== 'passkey' && form.text(CODE) === '') return { ok: false, status: 422, error: { field, text: TEXTS.empty[way] } };
  const limited = await request.server.stores.rateLimits.admit(rulesFor(request, attempt.email, way));
  if (!limited.ok) return { ok: false, status: 429, error: mustWait(reply, limited.retryAfterSeconds) };
  const refusal = await use(request, attempt, way, way === 'passkey' ? form.exact(CREDENTIAL) : form.text(CODE));
  const action = refusal === null ? 'user.second-factor' : 'user.second-factor-failed';
  const subject = refusal === 'copied' ? 'passkey: copied' : way;
  await recordForUser(request, attempt.email, { action, subject });
  return refusal === null ? { ok: true, factor: way } : { ok: false, status: 422, error: { field, text: TEXTS[refusal] } };
}

function rulesFor(request: FastifyRequest, email: string, way: SecondFactor): RateLimitRule[] {
  const rule = (policy: keyof typeof SECOND_FACTOR_LIMITS, subject: string): RateLimitRule => ({
    policy,
    subject,
    ...SECOND_FACTOR_LIMITS[policy],
  });
  const own = rule('second-factor', `${networkOf(request.address)}/${email}`);
  // A signature cannot be guessed, so that attempts with codes do not lock out people with passkeys.
  return way === 'passkey' ? [own] : [own, rule('second-factor-account', email)];
}

type Refusal = 'passkey' | 'copied' | 'totp' | 'used' | 'recovery';

/** Uses a factor up. @returns null if it is accepted */
async function use({ server }: FastifyRequest, attempt: Attempt, way: SecondFactor, proof: string): Promise<Refusal | null> {
  const { secondFactors } = server.stores;
  const { email, subject } = attempt;
  switch (way) {
    case 'recovery':
      return (await secondFactors.useRecovery(email, proof)).ok ? null : 'recovery';
    case 'totp': {
      const used = await secondFactors.useTotp(email, proof);
      if (used.ok) return null;
      return used.reason === 'used' ? 'used' : 'totp';
    }
    case 'passkey': {
      const own = async (id: string) => {
        const found = await secondFactors.findByPasskey(id);
        return found?.email === email ? found : null;
      };
      const assertion = await passkeysOf(server).readUse(proof, subject, own, { verified: false });
      return assertion === null ? 'passkey' : recordUse(secondFactors, email, assertion);
    }
  }
}

/** Records the verified use of a passkey. @returns null if it is accepted */
export async function recordUse(
  secondFactors: ApiStores['secondFactors'],
  email: string,
  { id, counter }: { id: string; counter: number },
): Promise<'passkey' | 'copied' | null> {
  const used = await secondFactors.usePasskey(email, id, counter);
  if (used.ok) return null;
  return used.reason === 'copied' ? 'copied' : 'passkey';
}

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
    <p class="field-error" role="alert" data-passkey-error data-failed="${FAILED()}" data-exists="${EXISTS()}"></p>
    ${button({ text, kind: 'primary', attributes: { hidden: true } })}
    <p data-passkey-unsupported>${t`Passkeys need JavaScript, and a browser that has them.`} ${otherwise}</p>
  </form>`;

const FAILED = (): string => t`The browser gave no passkey: it was canceled, or it took too long. Try again, or use another way.`;
const EXISTS = (): string => t`This device or security key has a passkey for your account already.`;

interface ProofForms {
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
  const others = recovery ? link(t`Use another way`, address({})) : link(t`Use a recovery code`, address({ way: 'recovery' }));
  if (recovery) return html`${codeForm(options, RECOVERY)}<p>${others}</p>`;
  const otherwise = factors.totp === null ? t`Use a recovery code.` : t`Use your authenticator app or a recovery code.`;
  return html`${
    passkeyOptions !== null &&
    html`<h2>${t`Passkey`}</h2>
        ${passkeyForm({
          action,
          csrfToken: options.csrfToken,
          kind: 'get',
          options: passkeyOptions,
          fields: [hiddenField('way', 'passkey'), ...Object.entries(query).map(([name, value]) => hiddenField(name, value))],
          text: t`Use passkey`,
          otherwise,
        })}`
  }
    ${
      passkeyOptions === null &&
      factors.passkeys.length > 0 &&
      html`<p>${t`Your passkeys cannot be used at this address of the service.`} ${otherwise}</p>`
    }
    ${factors.totp !== null && html`${passkeyOptions !== null && html`<h2>${t`Authenticator app`}</h2>`}${codeForm(options, TOTP)}`}
    <p>${others}</p>`;
}

const TOTP = {
  way: 'totp',
  label: m`Code of your authenticator app`,
  hint: m`Six digits, which change every 30 seconds.`,
  autocomplete: 'one-time-code',
  inputmode: 'numeric',
  width: 'short',
} as const;
const RECOVERY = {
  way: 'recovery',
  label: m`Recovery code`,
  hint: m`Each code works once. Capital letters, spaces and hyphens do not matter.`,
  autocomplete: 'off',
  inputmode: undefined,
  width: 'medium',
} as const;

function codeForm({ action, query = {}, csrfToken, errors, passkeyOptions }: ProofForms, kind: typeof TOTP | typeof RECOVERY): Html {
  const { way, autocomplete, inputmode, width } = kind;
  const [label, hint] = [tr(kind.label), tr(kind.hint)];
  return html`<form method="post" action="${action}" novalidate>
    ${hiddenField('_csrf', csrfToken)} ${hiddenField('way', way)}
    ${Object.entries(query).map(([name, value]) => hiddenField(name, value))}
    ${textField({ name: CODE, label, hint, required: true, autocomplete, inputmode, width, spellcheck: false, error: errorOf(errors, CODE) })}
    ${button({ text: t`Continue`, kind: passkeyOptions === null || way === 'recovery' ? 'primary' : 'secondary' })}
  </form>`;
}
