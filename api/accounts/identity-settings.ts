/** The settings of the OpenID Connect provider. */
import type { Static, TObject } from 'typebox';
import { secret, Type } from '../../platform/configuration.ts';
import type { Credential, LiveSettings } from '../../platform/setting-files.ts';
import { text } from '../../platform/settings.ts';

const REQUIRED = ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'] as const;

export const IdentitySettings = {
  OIDC_ISSUER: Type.Optional(
    Type.String({
      pattern: '^(https://[^\\s/]|http://(localhost|127\\.0\\.0\\.1)([:/]|$))',
      description:
        'the issuer of an OpenID Connect provider, such as https://login.example.com; if it is not set, users sign in with passwords only',
    }),
  ),
  OIDC_CLIENT_ID: Type.Optional(text('the id of this service at the OpenID Connect provider')),
  OIDC_CLIENT_SECRET: Type.Optional(text('the secret of this service at the OpenID Connect provider', secret)),
  OIDC_NAME: text('the name of the OpenID Connect provider on the sign-in page', { default: 'single sign-on' }),
  LOCAL_PASSWORDS: Type.Boolean({ default: true, description: 'true, or false to permit sign-in only at the OpenID Connect provider' }),
};

export interface IdentityProviderSettings {
  issuer: string;
  clientId: string;
  clientSecret: Credential;
  /** The text after "Sign in with". */
  name: string;
  /** Whether users may also sign in with passwords. */
  localPasswords: boolean;
  timeoutSeconds?: number;
}

/** The mistakes that the schema cannot express. */
export function identityProblems(environment: Record<string, string | undefined>): string[] {
  const missing = REQUIRED.filter((name) => !environment[name]);
  const configured = missing.length < REQUIRED.length;
  if (configured) return missing.map((name) => `${name} is not set; the OpenID Connect provider needs ${REQUIRED.join(', ')}.`);
  return environment['LOCAL_PASSWORDS'] === 'false'
    ? [
        'LOCAL_PASSWORDS is "false"; set OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET too, because users would have no other way to sign in.',
      ]
    : [];
}

/** @returns null if no provider is configured */
export function identityProviderOf(
  config: Readonly<Static<TObject<typeof IdentitySettings>>>,
  live: Pick<LiveSettings, 'credential'>,
): IdentityProviderSettings | null {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId } = config;
  const clientSecret = live.credential('OIDC_CLIENT_SECRET');
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return null;
  return { issuer, clientId, clientSecret, name: config.OIDC_NAME, localPasswords: config.LOCAL_PASSWORDS };
}
