/** The overview of a person's second factors. */
import type { FastifyRequest } from 'fastify';
import { type Factors, RECOVERY_CODES } from '../../../stores/accounts/second-factors.ts';
import { signedInOf } from '../../accounts/sessions/plugin.ts';
import { ORGANISATIONS_PATH } from '../../accounts/sessions/require-session.ts';
import {
  actions,
  button,
  card,
  confirmedForm,
  definitions,
  type FormError,
  link,
  linkButton,
  notice,
  table,
  dateAndTime,
  time,
} from '../../web/components.ts';
import { html, type Html } from '../../../report/html/html.ts';
import { csrfField, postForm, titledPage } from '../forms.ts';
import { APP_PATH, CODES_PATH, NEW_PASSKEY_PATH, passkeyPath } from './pages.ts';
import { passkeysOf } from './passkeys.ts';
import { t } from '../../web/texts.ts';

/** Below this number the page advises to make new codes. */
const FEW_CODES = 4;

export interface Overview {
  request: FastifyRequest;
  factors: Factors;
  /** Whether the account signs in with a password. Others leave the second factor to the identity provider. */
  local: boolean;
  /** Whether the session lacks the factor that the organisation requires. */
  lacking: boolean;
  recovered: boolean;
  done: string | null;
  errors?: readonly FormError[];
}

const TITLE = (): string => t`Second factor`;

export function overviewPage(options: Overview): Html {
  const { request, factors, local, lacking, recovered, done, errors = [] } = options;
  return titledPage({
    request,
    title: TITLE(),
    active: 'account',
    trail: [{ text: t`Account`, href: '/dashboard/account' }],
    errors,
    done,
    narrow: true,
    body: html`${recovered && afterRecovery(factors)}
      ${lacking && requiredNotice(request, factors)}
      ${
        local
          ? html`<p class="lead">
                ${factors.any ? t`Signing in needs your password and one of these, or a passkey alone.` : t`Signing in needs your password only. With a second factor, a stolen password is not enough.`}
              </p>
              <div class="factors">${passkeyPart(options)} ${appPart(request, factors)} ${factors.any && codesPart(request, factors)}</div>
              <p>${t`If someone else may be signed in as you, ${link(t`sign out everywhere`, '/dashboard/account')}.`}</p>`
          : html`<p class="lead">${t`You sign in at your organisation's identity provider, which decides about a second factor.`}</p>`
      }`,
  });
}

function requiredNotice(request: FastifyRequest, { any }: Factors): Html {
  const { membership } = signedInOf(request);
  return notice({
    kind: 'warn',
    title: t`${membership?.organisation.displayName ?? t`Your organisation`} requires a second factor`,
    body: any
      ? t`Confirm with yours to continue: ${link(t`confirm that it is you`, '/dashboard/account/confirm?next=/dashboard')}.`
      : t`Set one up to continue, or ${link(t`switch to another organisation`, ORGANISATIONS_PATH)}.`,
  });
}

const afterRecovery = ({ recovery }: Factors): Html =>
  notice({
    kind: 'warn',
    title: t`You signed in with a recovery code; ${recovery?.left ?? 0} of ${RECOVERY_CODES} are left`,
    body: t`If you have lost a device, remove it here and add another one.`,
    announce: true,
  });

function passkeyPart({ request, factors }: Overview): Html {
  const passkeys = passkeysOf(request.server);
  const usable = new Set(passkeys.usable(factors.passkeys).map(({ id }) => id));
  return card({
    title: t`Passkeys`,
    body: html`${
      factors.passkeys.length > 0 &&
      table({
        id: 'passkeys',
        caption: t`Your passkeys`,
        captionHidden: true,
        columns: [{ text: t`Name` }, { text: t`Added` }, { text: t`Last used` }],
        rows: factors.passkeys.map(({ id, name, createdAt, lastUsedAt }) => [
          html`${link(name, passkeyPath(id))}${!usable.has(id) && t` (not usable at this address)`}`,
          time(createdAt),
          lastUsedAt === null ? t`Never` : time(lastUsedAt),
        ]),
      })
    }
    ${
      passkeys.available
        ? html`<p>${linkButton({ text: t`Add a passkey`, href: NEW_PASSKEY_PATH, kind: factors.any ? 'secondary' : 'primary' })}</p>`
        : html`<p>${t`Browsers have no passkeys for the address of this service: they need HTTPS and a host name. Use an authenticator app.`}</p>`
    }`,
  });
}

function appPart(request: FastifyRequest, { totp }: Factors): Html {
  const text = totp === null ? t`Set up an authenticator app` : t`Replace the authenticator app`;
  const begin = postForm(request, `${APP_PATH}/begin`, button({ text }));
  return card({
    title: t`Authenticator app`,
    body: html`${
      totp === null
        ? html`<p>${t`An app on your phone or in your password manager shows a code that changes every 30 seconds.`}</p>
            ${begin}`
        : html`${definitions([
            [t`Set up on`, dateAndTime(totp.createdAt)],
            [t`Last used`, time(totp.lastUsedAt)],
          ])}
          ${actions(begin, linkButton({ text: t`Remove the authenticator app`, href: `${APP_PATH}/removal`, kind: 'quiet' }))}`
    }`,
  });
}

function codesPart(request: FastifyRequest, { recovery }: Factors): Html {
  const left = recovery?.left ?? 0;
  return card({
    title: t`Recovery codes`,
    body: html`${left < FEW_CODES && notice({ kind: 'warn', body: t`Few codes are left. Make new ones.` })}
    ${definitions([
      [t`Codes left`, t`${left} of ${RECOVERY_CODES}`],
      [t`Made on`, recovery === null ? t`Never` : dateAndTime(recovery.createdAt)],
      [t`Last used`, recovery?.lastUsedAt == null ? t`Never` : time(recovery.lastUsedAt)],
    ])}
    ${confirmedForm({
      id: 'new-codes',
      action: CODES_PATH,
      fields: csrfField(request),
      trigger: { text: t`Make new recovery codes` },
      title: t`Make new recovery codes?`,
      text: t`The codes that you have now stop working.`,
      confirm: t`Make new codes`,
      cancel: t`Cancel`,
      kind: 'primary',
    })}`,
  });
}
