/** The settings that several processes read, each defined once. A process spreads the groups that it needs into its own schema. */
import { isIPv4 } from 'node:net';
import { type TOptional, type TString, Type } from 'typebox';
import ipaddr from 'ipaddr.js';
import { DEFAULT_NAMESPACE } from '../core/protocol/custom-resources.ts';
import { MAX_PAGES_CEILING } from '../core/scan/options.ts';
import type { TargetRules } from '../core/scan/targets.ts';
import { addressMistakes, checked, type Environment, fromFile, listOf, secret } from './configuration.ts';
import { bundleMistakes } from './authorities.ts';
import { noProxyMistakes } from './outbound-proxy.ts';
import { mongodbUrlProblems } from './mongodb-url.ts';

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

export const text = (description: string, rest: object = {}) => Type.String({ minLength: 1, description, ...rest });
export const httpUrl = (description: string) => Type.String({ pattern: '^https?://[^\\s/]', description });
export const natsUrl = (description: string) => Type.String({ pattern: '^(nats|tls|ws|wss)://', ...secret, description });
/** A port to listen on. */
export const port = (fallback: number) =>
  Type.Integer({ minimum: 0, maximum: 65535, default: fallback, description: 'a port from 1 to 65535, or 0 for any free port' });
/** An enumeration with a default. */
export const choice = <const T extends readonly string[]>(values: T, fallback: T[number]) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], default: fallback, description: `one of ${values.join(', ')}` });

/** A Kubernetes namespace. Without anchors, for use inside other patterns. */
export const NAMESPACE_PATTERN = '[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?';

export const ProcessSettings = {
  HOST: text('an address to listen on, such as 127.0.0.1, or :: for all interfaces of both families', { default: '127.0.0.1' }),
  LOG_LEVEL: choice(LOG_LEVELS, 'info'),
};

const bundle = (name: string, description: string) =>
  Type.Optional(text(description, { ...fromFile, ...checked((value) => bundleMistakes(name, value)) }));

export const TrustSettings = {
  PRIVATE_CA: bundle(
    'PRIVATE_CA',
    'certificates of authorities in PEM format, which this process and scanner pods trust in addition to public ones for MongoDB, NATS, S3, mail, OpenID Connect, webhooks and spans',
  ),
};

export const SiteTrustSettings = {
  SITE_CA: bundle(
    'SITE_CA',
    'certificates of authorities in PEM format, which scanner pods trust in addition to public ones for scanned sites',
  ),
};

const proxySettings = <const Prefix extends string>(prefix: Prefix, what: string) => {
  const url = `${prefix}HTTPS_PROXY`;
  const settings = {
    [url]: Type.Optional(
      Type.String({
        pattern: '^http://[^\\s/?#]+/?$',
        ...secret,
        ...checked((value) => addressMistakes(url, value)),
        description: `the HTTP proxy for ${what}, such as http://user:password@proxy.example.com:3128 (port 80 by default), with # as %23, / as %2F and ? as %3F in the password; if it is not set, they go directly`,
      }),
    ),
    [`${prefix}NO_PROXY`]: Type.String({
      default: '',
      description: 'a comma-separated list of hosts that are reached without the proxy: host names, domains as .example.com, addresses, each with or without a port, or * for all; ranges are ignored', // prettier-ignore
    }),
  };
  return settings as Record<`${Prefix}HTTPS_PROXY`, TOptional<TString>> & Record<`${Prefix}NO_PROXY`, TString>;
};

export const OutboundProxySettings = proxySettings('', 'requests to S3, mail, OpenID Connect, Turnstile, webhooks and the collector');
export const ScannerProxySettings = proxySettings('SCANNER_', 'connections of scanner pods to scanned sites, S3 and the collector');

/** The mistakes in the settings of a proxy that is used. Without one, container runtimes may have set the others for other programs. */
export const proxyProblems = (environment: Environment): string[] =>
  (['', 'SCANNER_'] as const).flatMap((prefix) =>
    environment[`${prefix}HTTPS_PROXY`] ? noProxyMistakes(`${prefix}NO_PROXY`, environment[`${prefix}NO_PROXY`] ?? '') : [],
  );

export const KubernetesSettings = {
  CURBCUT_NAMESPACE: Type.String({
    pattern: `^${NAMESPACE_PATTERN}$`,
    default: DEFAULT_NAMESPACE,
    description: 'the Kubernetes namespace of submitted scans, the queue and the lease',
  }),
  CURBCUT_CLASS: Type.String({
    pattern: `^${NAMESPACE_PATTERN}$`,
    default: 'curbcut',
    description: 'the operator class: the API sets it in `spec.class` of its scans, and the operator acts only on scans of this class',
  }),
  KUBECONFIG: Type.Optional(
    text(
      "the path of a kubeconfig, whose user has a token, a client certificate, a credential plug-in or an OpenID provider; if it is not set, the pod's service account is used",
    ),
  ),
};

export const DatabaseSettings = {
  MONGODB_URL: Type.String({
    pattern: '^mongodb(\\+srv)?://',
    ...secret,
    ...checked(mongodbUrlProblems),
    description:
      'a connection string such as mongodb://host:27017/curbcut, which must not set weaker values than readPreference=primary, w=majority, journal=true and retryWrites=true',
  }),
};

export const NatsSettings = {
  NATS_URL: Type.Optional(natsUrl('an address such as nats://host:4222')),
  NATS_CREDENTIALS_FILE: Type.Optional(text('the path of a NATS .creds file')),
};

export const S3Settings = {
  S3_ENDPOINT: httpUrl('the address of an S3-compatible object store, such as https://s3.example.com'),
  S3_REGION: text('the region of the object store', { default: 'us-east-1' }),
  S3_BUCKET: text('the name of a bucket'),
  S3_ACCESS_KEY_ID: Type.Optional(text('the id of an access key; if it is not set, a workload identity is used', fromFile)),
  S3_SECRET_ACCESS_KEY: Type.Optional(text('the secret of an access key', secret)),
  // The names are those of AWS, because its admission webhooks set some of them (IRSA, EKS Pod Identity).
  AWS_ROLE_ARN: Type.Optional(text('the ARN of a role that the workload identity assumes, such as arn:aws:iam::123456789012:role/curbcut')),
  AWS_WEB_IDENTITY_TOKEN_FILE: Type.Optional(text('the path of a token that the role trusts, which is read again for each session')),
  AWS_ENDPOINT_URL_STS: Type.Optional(httpUrl("the address of the token service; by default AWS's in S3_REGION")),
  S3_SESSION_SECONDS: Type.Integer({
    minimum: 900,
    maximum: 43_200,
    default: 3600,
    description:
      "the length of a role's session in seconds, from 900 to 43200 and at most the role's maximum; links, and with them scans, end with it",
  }),
  AWS_CONTAINER_CREDENTIALS_FULL_URI: Type.Optional(
    httpUrl('the address of an agent that hands out sessions, such as that of EKS Pod Identity'),
  ),
  AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: Type.Optional(text('the path of the token for that agent')),
};

/** The mistakes in S3Settings that their schema cannot express. */
export function s3Problems(environment: Environment): string[] {
  const missing = (names: readonly string[]): string[] => names.filter((name) => !environment[name]);
  const key = ['S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'];
  const role = ['AWS_ROLE_ARN', 'AWS_WEB_IDENTITY_TOKEN_FILE'];
  if (missing(key).length === 0) return [];
  if (missing(key).length === 1) return [`${missing(key)[0]} is not set; an access key needs ${key.join(' and ')}.`];
  if (missing(role).length === 1) return [`${missing(role)[0]} is not set; a workload identity needs ${role.join(' and ')}.`];
  if (missing(role).length === 0 || environment['AWS_CONTAINER_CREDENTIALS_FULL_URI']) return [];
  return [`${key.join(' and ')} are not set; set them, or for a workload identity ${role.join(' and ')}.`];
}

export const PublicAddressSettings = {
  PUBLIC_BASE_URL: Type.Optional(
    Type.String({
      pattern: '^https?://[^\\s/?#@]+/?$',
      description: 'the address that callers use, without a path, a query or a user, such as https://curbcut.example.com',
    }),
  ),
};

export const WebhookSettings = {
  WEBHOOKS: Type.Boolean({
    default: true,
    description: 'true, or false to send no webhooks: none can be created or tested, and events are dropped',
  }),
};

export const MailSettings = {
  SMTP_URL: Type.Optional(
    Type.String({
      pattern: '^smtps?://[^\\s/]',
      ...secret,
      ...checked((value) => addressMistakes('SMTP_URL', value)),
      description:
        'the address of a mail server, such as smtp://user:password@mail.example.com:587 (STARTTLS) or smtps://user:password@mail.example.com:465; if it is not set, no mails are sent and public scans are off',
    }),
  ),
  MAIL_FROM: Type.Optional(
    Type.String({
      pattern: '^([^\\s<>@]+@[^\\s<>@]+|[^<>@\\r\\n]*<[^\\s<>@]+@[^\\s<>@]+>)$',
      description: 'the sender of mails, such as Curbcut <no-reply@example.com>; by default no-reply@ the host of PUBLIC_BASE_URL',
    }),
  ),
};

/** The sender of mails: MAIL_FROM, or an address at the host of the public base address. */
export function mailFromOf(mailFrom: string | undefined, publicBaseUrl: string): string {
  const { hostname } = new URL(publicBaseUrl);
  // Many mail servers refuse an IP address after the @.
  const isAddress = hostname.startsWith('[') || isIPv4(hostname);
  return mailFrom ?? `Curbcut <no-reply@${isAddress ? 'localhost' : hostname}>`;
}

/** Read by `readTargetRules`, which also checks each item. */
export const TargetSettings = {
  ALLOW_TARGETS: Type.String({ default: '', description: 'a comma-separated list of CIDRs, host names or address:port' }),
  DENY_TARGETS: Type.String({ default: '', description: 'a comma-separated list of CIDRs' }),
};

/** The names are OpenTelemetry's own. */
export const TracingSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: Type.Optional(
    httpUrl('the address of an OpenTelemetry collector (OTLP over HTTP) such as http://collector:4318; if it is not set, tracing is off'),
  ),
  OTEL_EXPORTER_OTLP_HEADERS: Type.Optional(
    Type.String({
      pattern: '^[^=,\\s]+=[^,]*(,[^=,\\s]+=[^,]*)*$',
      ...secret,
      description: 'headers for the collector, as name=value,name=value',
    }),
  ),
};

/** The limits on scans that API and operator read. */
export const ScanLimitSettings = {
  MAX_PAGES_LIMIT: Type.Integer({
    minimum: 1,
    maximum: MAX_PAGES_CEILING,
    default: 500,
    description: `the maximum number of pages of one scan, from 1 to ${MAX_PAGES_CEILING}`,
  }),
};

/** The places of public scans, which API and operator read. */
export const PublicQueueSettings = {
  MAX_RUNNING_PUBLIC_SCANS: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    default: 2,
    description: 'the maximum number of running public scans if the ScanQueue public does not set it, from 1 to 10000',
  }),
};

const isRange = (item: string): boolean => ipaddr.isValid(item) || ipaddr.isValidCIDR(item);
const isHost = (item: string): boolean => /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:\d{1,5})?$/i.test(item);

/**
 * Parses `ALLOW_TARGETS` and `DENY_TARGETS` into the rules that `judgeTarget` applies. Each malformed item is a problem, because a misspelt range in `DENY_TARGETS` would deny nothing.
 * @returns `problems` for the `further` parameter of `readConfiguration`
 */
export function readTargetRules(environment: Record<string, string | undefined>): { targets: TargetRules; problems: string[] } {
  const allow = listOf(environment.ALLOW_TARGETS);
  const deny = listOf(environment.DENY_TARGETS);
  const problems = [
    ...allow
      .filter((item) => !isRange(item) && (item.includes('/') || !isHost(item)))
      .map((item) => `ALLOW_TARGETS holds ${JSON.stringify(item)}; each item must be a CIDR, a host name or address:port.`),
    ...deny.filter((item) => !isRange(item)).map((item) => `DENY_TARGETS holds ${JSON.stringify(item)}; each item must be a CIDR.`),
  ];
  return { targets: { allow, deny }, problems };
}

/** Parses `TEST_TARGETS`: host names, with or without a port. An address range would allow more than a test site. */
export function readTestTargets(environment: Record<string, string | undefined>): { testTargets: string[]; problems: string[] } {
  const testTargets = listOf(environment.TEST_TARGETS);
  const problems = testTargets
    .filter((item) => item.includes('/') || !isHost(item))
    .map((item) => `TEST_TARGETS holds ${JSON.stringify(item)}; each item must be a host name or name:port.`);
  return { testTargets, problems };
}
