/** An OpenID Connect provider: authorization code with PKCE. It is discovered when it is first needed. */
import * as oidc from 'openid-client';
import type { Static, TObject } from 'typebox';
import { type Credential, currentOf, type LiveSettings } from '../../../platform/setting-files.ts';
import type { OidcChecks } from '../../../stores/accounts/pending-sign-ins.ts';
import type { Identity } from '../../../stores/accounts/users.ts';
import { secret, Type } from '../../../platform/configuration.ts';
import { text } from '../../../platform/settings.ts';
import { claimAt, DEFAULT_SCOPES, isElsewhere, type RoleMapping, type RoleRule, RoleSettings, valuesOf } from './role-mapping.ts';

/** The settings of the OpenID Connect provider. */
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
  OIDC_EMAILS_VERIFIED: Type.Boolean({
    default: false,
    description:
      'true if e-mail addresses count as verified where the provider does not say; only for an issuer with one tenant, which is your own',
  }),
  ...RoleSettings,
  OIDC_NAME: text('the name of the OpenID Connect provider on the sign-in page', { default: 'single sign-on' }),
  LOCAL_PASSWORDS: Type.Boolean({ default: true, description: 'true, or false to permit sign-in only at the OpenID Connect provider' }),
};

export interface IdentityProviderSettings {
  issuer: string;
  clientId: string;
  clientSecret: Credential;
  /** Whether an address counts as verified if the provider does not say. Default: false. */
  emailsVerified?: boolean;
  /** The scopes that are asked for. Default: those of an address and a name. */
  scopes?: string;
  /** Absent: memberships are managed here. */
  roleMapping?: RoleMapping;
  /** The text after "Sign in with". */
  name: string;
  /** Whether users may also sign in with passwords. */
  localPasswords: boolean;
  /** The time limit of one request to the provider, in seconds. Default: 5. */
  timeoutSeconds?: number;
}

/** Issuers of Microsoft Entra ID at which anyone can have any address and role. The last one is the tenant of personal accounts. */
const MANY_TENANTS = /^https?:\/\/[^/]+\/+(common|organizations|consumers|9188040d-6c67-4c5b-b112-36a304b66dad)([/?#]|$)/i;

function tenantProblems({ OIDC_EMAILS_VERIFIED, OIDC_ROLE_MAPPING, OIDC_ISSUER = '' }: Record<string, string | undefined>): string[] {
  const [, tenant] = MANY_TENANTS.exec(OIDC_ISSUER) ?? [];
  if (tenant === undefined || (OIDC_EMAILS_VERIFIED !== 'true' && !OIDC_ROLE_MAPPING)) return [];
  const why = `OIDC_ISSUER is for accounts of any tenant (${tenant}), where anyone can have any e-mail address and any role`;
  const issuer = 'the issuer of your own tenant, such as https://login.microsoftonline.com/TENANT-ID/v2.0';
  return [`${why}; set ${issuer}, or neither OIDC_EMAILS_VERIFIED nor OIDC_ROLE_MAPPING.`];
}

/** The mistakes that the schema cannot express. */
export function identityProblems(environment: Record<string, string | undefined>): string[] {
  const missing = REQUIRED.filter((name) => !environment[name]);
  const configured = missing.length < REQUIRED.length;
  if (missing.length === 0) return tenantProblems(environment);
  if (configured) return missing.map((name) => `${name} is not set; the OpenID Connect provider needs ${REQUIRED.join(', ')}.`);
  if (environment['OIDC_ROLE_MAPPING']) return [`OIDC_ROLE_MAPPING is set; it needs ${REQUIRED.join(', ')}.`];
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
  const { OIDC_EMAILS_VERIFIED: emailsVerified, OIDC_NAME: name, LOCAL_PASSWORDS: localPasswords } = config;
  const { OIDC_SCOPES: scopes, OIDC_ROLE_CLAIM: claim, OIDC_ROLE_MAPPING: mapping } = config;
  const roleMapping = mapping === undefined ? {} : { roleMapping: { claim, rules: JSON.parse(mapping) as RoleRule[] } };
  return { issuer, clientId, clientSecret, emailsVerified, scopes, ...roleMapping, name, localPasswords };
}

export type IdentityProviderOptions = Omit<IdentityProviderSettings, 'name' | 'localPasswords'> & {
  /** The address to which the provider returns the browser. */
  redirectUri: string;
};

/** What the provider says about a person. */
export interface Claims {
  identity: Identity;
  /** Null: there is none, or the provider has not verified it. */
  email: string | null;
  name: string | null;
  /** The values of the claim of the role mapping; none without a mapping. */
  roleValues: ReturnType<typeof valuesOf>;
  /** When the person signed in at the provider; null if it does not say. */
  provedAt: Date | null;
}

export type Exchange = { ok: true; claims: Claims } | { ok: false; reason: 'refused'; cause: unknown };

export function createIdentityProvider(options: IdentityProviderOptions) {
  const { issuer, clientId, clientSecret, emailsVerified = false, redirectUri, timeoutSeconds = 5 } = options;
  const { scopes = DEFAULT_SCOPES, roleMapping } = options;
  let discovered: { secret: string; configuration: Promise<oidc.Configuration> } | null = null;
  const choice: Choice = { refused: null };

  function configuration(): Promise<oidc.Configuration> {
    const secret = currentOf(clientSecret);
    if (discovered?.secret === secret) return discovered.configuration;
    const found = oidc
      .discovery(new URL(issuer), clientId, secret, authenticationWith(secret, choice), {
        timeout: timeoutSeconds,
        // The settings permit plain HTTP only on this machine.
        execute: issuer.startsWith('http:') ? [oidc.allowInsecureRequests] : [],
      })
      .catch((error: unknown) => {
        // The next sign-in tries again.
        discovered = null;
        throw error;
      });
    discovered = { secret, configuration: found };
    return found;
  }

  return {
    /**
     * Returns the address that starts a sign-in, and what to keep for its end.
     * @param fresh asks the provider not to be content with an earlier sign-in @throws if the provider is down
     */
    async start({ fresh = false }: { fresh?: boolean } = {}): Promise<{ url: URL; flow: OidcChecks }> {
      const config = await configuration();
      const flow = { state: oidc.randomState(), nonce: oidc.randomNonce(), verifier: oidc.randomPKCECodeVerifier() };
      const url = oidc.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: scopes,
        code_challenge: await oidc.calculatePKCECodeChallenge(flow.verifier),
        code_challenge_method: 'S256',
        state: flow.state,
        nonce: flow.nonce,
        // Not `prompt=login`, which Google does not document.
        ...(fresh && { max_age: '0' }),
      });
      return { url, flow };
    },

    /** Exchanges the response for the claims. @param url the address with the response @throws if the provider is down */
    async finish(url: URL, { state, nonce, verifier }: OidcChecks): Promise<Exchange> {
      const config = await configuration();
      try {
        const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
        const { refused } = choice;
        const tokens = await oidc.authorizationCodeGrant(config, url, checks).catch((error: unknown) => {
          const tried = methodsOf(config.serverMetadata(), refused);
          if (!isClientRefused(error) || tried.length === 1) throw error;
          choice.refused = tried[0]![0];
          return oidc.authorizationCodeGrant(config, url, checks);
        });
        const claims = tokens.claims()!;
        const { iss, sub, auth_time } = claims;
        // Many providers give these only at the UserInfo endpoint, which not all have.
        const lacks = (path: string): boolean => claimAt(claims, path) === undefined && !isElsewhere(claims, path);
        const incomplete = lacks('email') || (lacks('email_verified') && !emailsVerified) || (roleMapping && lacks(roleMapping.claim));
        const asked = incomplete && config.serverMetadata().userinfo_endpoint !== undefined;
        const more = asked ? await oidc.fetchUserInfo(config, tokens.access_token, sub) : {};
        const provedAt = auth_time === undefined ? null : new Date(auth_time * 1000);
        const said = { ...claims, ...more };
        const roleValues = roleMapping === undefined ? [] : valuesOf(said, roleMapping.claim);
        return { ok: true, claims: { ...toClaims(iss, sub, said, emailsVerified), roleValues, provedAt } };
      } catch (error) {
        if (isRefusal(error)) return { ok: false, reason: 'refused', cause: error };
        throw error;
      }
    },
  };
}
export type IdentityProvider = ReturnType<typeof createIdentityProvider>;

/** The ways to send the secret of a client, in the order of preference: the first one is the default of OIDC Discovery. */
const AUTHENTICATION = [
  ['client_secret_basic', oidc.ClientSecretBasic],
  ['client_secret_post', oidc.ClientSecretPost],
] as const;

/** The way that the provider has refused last: it may accept one only for this client, and its metadata name both. */
interface Choice {
  refused: (typeof AUTHENTICATION)[number][0] | null;
}

/** The ways that the provider's metadata name, that to use first. */
function methodsOf({ token_endpoint_auth_methods_supported: named }: oidc.ServerMetadata, refused: Choice['refused']) {
  const known = AUTHENTICATION.filter(([name]) => named?.includes(name) ?? true);
  const methods = known.length > 0 ? known : AUTHENTICATION.slice(0, 1);
  return methods.length > 1 && methods[0]![0] === refused ? methods.toReversed() : methods;
}

/** The library sends the secret in the body, whatever the metadata name. */
const authenticationWith =
  (secret: string, choice: Choice): oidc.ClientAuth =>
  (server, ...request) =>
    methodsOf(server, choice.refused)[0]![1](secret)(server, ...request);

/** Whether the provider does not accept how the client proved itself. The code can then be used still. */
const isClientRefused = (error: unknown): boolean =>
  (error instanceof oidc.ResponseBodyError && error.error === 'invalid_client') ||
  (error instanceof oidc.WWWAuthenticateChallengeError && error.status === 401);

type Said = Readonly<Record<string, unknown>>;

function toClaims(
  issuer: string,
  subject: string,
  { email, email_verified, name }: Said,
  emailsVerified: boolean,
): Pick<Claims, 'identity' | 'email' | 'name'> {
  // Amazon Cognito says it as text. What the provider denies is never verified.
  const verified = email_verified === true || email_verified === 'true' || (email_verified === undefined && emailsVerified);
  return {
    identity: { issuer, subject },
    email: typeof email === 'string' && verified ? email.trim().toLowerCase() : null,
    name: typeof name === 'string' && name.trim() !== '' ? name.trim().slice(0, 100) : null,
  };
}

/** Whether the provider or a check of its response said no. Other errors are outages. */
function isRefusal(error: unknown): boolean {
  if (error instanceof oidc.AuthorizationResponseError) return true;
  if (error instanceof oidc.ResponseBodyError || error instanceof oidc.WWWAuthenticateChallengeError) return error.status < 500;
  return (
    error instanceof oidc.ClientError && !['OAUTH_TIMEOUT', 'OAUTH_ABORT'].includes(error.code ?? '') && !(error.cause instanceof TypeError)
  );
}
