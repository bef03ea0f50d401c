/** The API's settings, read from its environment. */
import type { Static } from 'typebox';
import { isSecretRule } from '../core/scan/sign-in.ts';
import type { TargetRules } from '../core/scan/targets.ts';
import { listOf, readConfiguration, Type, type Environment as Variables } from '../platform/configuration.ts';
import { outboundProxyOf } from '../platform/outbound-proxy.ts';
import { fixedSettings, type LiveSettings } from '../platform/setting-files.ts';
import {
  DatabaseSettings,
  httpUrl,
  KubernetesSettings,
  mailFromOf,
  MailSettings,
  NatsSettings,
  OutboundProxySettings,
  port,
  ProcessSettings,
  proxyProblems,
  PublicAddressSettings,
  readTargetRules,
  readTestTargets,
  s3Problems,
  S3Settings,
  ScanLimitSettings,
  TargetSettings,
  TracingSettings,
  TrustSettings,
  WebhookSettings,
} from '../platform/settings.ts';
import { identityProblems, identityProviderOf, IdentitySettings } from './accounts/sessions/identity-provider.ts';
import { legalLinksOf, LegalSettings } from './web/legal.ts';
import { ProxySettings, publicScanOptionsOf, publicScanProblems, PublicScanSettings } from './public/settings.ts';
import { CURBCUT_VERSION } from '../platform/version.ts';
import type { AppOptions } from './dependencies.ts';
import type { OutboxSettings } from './outbox/outbox.ts';
import { hostInUrl, ownAddress } from '../platform/listen.ts';

export const Environment = Type.Object({
  ...ProcessSettings,
  ...TrustSettings,
  ...OutboundProxySettings,
  PORT: port(8080),
  METRICS_PORT: port(9090),
  ...PublicAddressSettings,
  ...MailSettings,
  ...KubernetesSettings,
  ...DatabaseSettings,
  ...NatsSettings,
  ...S3Settings,
  S3_PUBLIC_ENDPOINT: Type.Optional(httpUrl('the address of the object store that callers use, for download links')),
  ...WebhookSettings,
  ...TargetSettings,
  TEST_TARGETS: Type.String({
    default: '',
    description:
      'a comma-separated list of host names or addresses, each with or without a port, such as that of a demo site, that test keys may scan besides loopback; ALLOW_TARGETS and DENY_TARGETS apply too',
  }),
  ...ScanLimitSettings,
  MAX_LIVE_SCANS: Type.Integer({
    minimum: 1,
    default: 2000,
    description: 'the maximum number of live scans, from 1: those that the API submitted, and manifests from their admission',
  }),
  MAX_LIVE_SCANS_PER_ORGANISATION: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        'the maximum number of scans of one organisation that hold credits, from 1, above which the API refuses its submissions; if not set, a quarter of MAX_LIVE_SCANS',
    }),
  ),
  ALLOW_PREPARE_STEPS: Type.Boolean({
    default: true,
    description: 'true, or false to refuse scans with steps (`prepare`) over HTTP and in the dashboard; manifests may still have them',
  }),
  ALLOW_SCAN_SECRETS: Type.String({
    default: '',
    description:
      "a comma-separated list of Secrets in the namespace of the API's scans that scans over HTTP may sign in with: a name, or the beginning of names with *, for all organisations or, as ORGANISATION/NAME, for one",
  }),
  ...PublicScanSettings,
  ...ProxySettings,
  DASHBOARD: Type.Boolean({
    default: true,
    description: 'true, or false to turn off the pages below /dashboard; REST requests then need an API key',
  }),
  ...LegalSettings,
  ...IdentitySettings,
  MAX_EVENT_STREAMS: Type.Integer({
    minimum: 1,
    default: 1000,
    description: 'the maximum number of event streams that are open on one replica, from 1',
  }),
  ...TracingSettings,
});

export type Configuration = Readonly<Static<typeof Environment>> & { targets: TargetRules; testTargets: readonly string[] };

/** The links in mails need the public address. */
const mailProblems = ({ SMTP_URL, PUBLIC_BASE_URL }: Variables): string[] =>
  SMTP_URL && !PUBLIC_BASE_URL ? ["PUBLIC_BASE_URL is not set; it must be the service's base address if SMTP_URL is set."] : [];

/** @param further mistakes that were found before @throws ConfigurationError that lists every problem */
export function readApiConfiguration(environment: Variables, further: readonly string[] = []): Configuration {
  const { targets, problems } = readTargetRules(environment);
  const tests = readTestTargets(environment);
  const read = readConfiguration(Environment, environment, [
    ...further,
    ...s3Problems(environment),
    ...proxyProblems(environment),
    ...mailProblems(environment),
    ...problems,
    ...tests.problems,
    ...secretProblems(listOf(environment.ALLOW_SCAN_SECRETS)),
    ...publicScanProblems(environment),
    ...identityProblems(environment),
  ]);
  return Object.freeze({ ...read, targets, testTargets: tests.testTargets });
}

/** Converts the environment to the options of the app. @param live the current values of credentials. Default: those of `config` */
export function settingsOf(config: Configuration, live: LiveSettings = fixedSettings(config)): AppOptions {
  const { HOST, PORT, PUBLIC_BASE_URL = `http://${ownAddress(HOST) === HOST ? hostInUrl(HOST) : 'localhost'}:${PORT}` } = config;
  return {
    publicBaseUrl: PUBLIC_BASE_URL.replace(/\/+$/, ''),
    namespace: config.CURBCUT_NAMESPACE,
    targets: config.targets,
    testTargets: config.testTargets,
    allowPrepareSteps: config.ALLOW_PREPARE_STEPS,
    webhooks: config.WEBHOOKS,
    allowScanSecrets: listOf(config.ALLOW_SCAN_SECRETS),
    maxPagesLimit: config.MAX_PAGES_LIMIT,
    maxLiveScans: config.MAX_LIVE_SCANS,
    maxLiveScansPerOrganisation: config.MAX_LIVE_SCANS_PER_ORGANISATION ?? Math.ceil(config.MAX_LIVE_SCANS / 4),
    dashboard: config.DASHBOARD,
    legal: legalLinksOf(config),
    identityProvider: identityProviderOf(config, live),
    mail: config.SMTP_URL !== undefined,
    maxEventStreams: config.MAX_EVENT_STREAMS,
    publicScans: publicScanOptionsOf(config, live),
    trustedProxies: listOf(config.TRUSTED_PROXIES),
    version: CURBCUT_VERSION,
  };
}

export function outboxSettingsOf(config: Configuration, live: LiveSettings = fixedSettings(config)): OutboxSettings {
  const publicBaseUrl = config.PUBLIC_BASE_URL?.replace(/\/+$/, '') ?? null;
  const smtpUrl = live.credential('SMTP_URL');
  return {
    publicBaseUrl,
    mail: smtpUrl === undefined || publicBaseUrl === null ? null : { smtpUrl, from: mailFromOf(config.MAIL_FROM, publicBaseUrl) },
    legal: legalLinksOf(config),
    webhooks: config.WEBHOOKS,
    targets: config.targets,
    proxy: outboundProxyOf(live),
  };
}

const secretProblems = (items: readonly string[]): string[] =>
  items
    .filter((item) => !isSecretRule(item))
    .map(
      (item) => `ALLOW_SCAN_SECRETS holds ${JSON.stringify(item)}; each item must be NAME, NAME*, ORGANISATION/NAME or ORGANISATION/NAME*.`,
    );
