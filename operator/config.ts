/** The operator's settings from environment variables. */
import { SCANNER_DEFAULTS } from '../core/protocol/scanner-program.ts';
import type { Static } from 'typebox';
import { Type, listOf, readConfiguration, secret, type Environment as Variables } from '../platform/configuration.ts';
import { outboundProxyOf } from '../platform/outbound-proxy.ts';
import { fixedSettings, type LiveSettings } from '../platform/setting-files.ts';
import {
  choice,
  DatabaseSettings,
  httpUrl,
  KubernetesSettings,
  NAMESPACE_PATTERN,
  NatsSettings,
  natsUrl,
  OutboundProxySettings,
  port,
  ProcessSettings,
  proxyProblems,
  PublicAddressSettings,
  PublicQueueSettings,
  readTargetRules,
  s3Problems,
  S3Settings,
  ScanLimitSettings,
  ScannerProxySettings,
  SiteTrustSettings,
  TargetSettings,
  text,
  TracingSettings,
  TrustSettings,
  WebhookSettings,
} from '../platform/settings.ts';
import { exportMemoryMib } from '../report/schema/export-size.ts';
import { type AccessibilityScan, classOf } from '../core/protocol/custom-resources.ts';
import type { TargetRules } from '../core/scan/targets.ts';
import type { PodSettings, ScannerSettings } from './scan/launch/job.ts';
import {
  POD_TEMPLATE_FIELDS,
  type PodTemplateField,
  type PodTemplateRules,
  readScannerPodTemplate,
  type ScannerPodTemplate,
} from './scan/launch/pod-template.ts';
import type { RunTime, Timeouts } from './scan/policy/facts.ts';
import { RETRIES_MAX } from './scan/policy/pods.ts';

const PULL_POLICIES = ['IfNotPresent', 'Always', 'Never'] as const;

const FIELD = `(${POD_TEMPLATE_FIELDS.join('|')})`;

const integer = (from: number, to: number, fallback: number, what: string) =>
  Type.Integer({ minimum: from, maximum: to, default: fallback, description: `${what}, from ${from} to ${to}` });
const quantity = (fallback: string, description: string) =>
  Type.String({ pattern: '^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$', default: fallback, description });

const { pageBudgetSeconds: PAGE_SECONDS, largePageBudgetSeconds: LARGE_PAGE_SECONDS } = SCANNER_DEFAULTS;

export const Environment = Type.Object({
  ...ProcessSettings,
  ...TrustSettings,
  ...OutboundProxySettings,
  METRICS_PORT: port(9090),
  ...KubernetesSettings,
  WATCH_NAMESPACES: Type.String({
    pattern: `^(${NAMESPACE_PATTERN}(\\s*,\\s*${NAMESPACE_PATTERN})*)?$`,
    default: '',
    description: 'a comma-separated list of namespaces to watch for scans, in addition to CURBCUT_NAMESPACE; empty watches all namespaces',
  }),
  LEASE_SECONDS: integer(3, 300, 15, 'the lease duration in seconds, after which another replica takes over'),
  ...DatabaseSettings,
  ...NatsSettings,
  NATS_POD_URL: Type.Optional(natsUrl('the NATS address that scanner pods use')),
  NATS_SIGNING_SEED: Type.Optional(
    Type.String({
      pattern: '^SA[A-Z2-7]{56}$',
      ...secret,
      description: 'the seed (SA…) of the NATS account that signs the credentials of scanner pods',
    }),
  ),
  ...S3Settings,
  S3_POD_ENDPOINT: Type.Optional(httpUrl('the address of the object store that scanner pods use for uploads')),
  ...TracingSettings,
  SCANNER_IMAGE: text('the name of the scanner image'),
  SCANNER_IMAGE_PULL_POLICY: choice(PULL_POLICIES, 'IfNotPresent'),
  SCANNER_POD_TEMPLATE: Type.String({
    default: '{}',
    description:
      'a JSON object with what all scanner pods have, in the names of a Pod: labels, annotations, imagePullSecrets, nodeSelector, tolerations, affinity, topologySpreadConstraints, priorityClassName, runtimeClassName, podSecurityContext, volumes; and of its container: resources, securityContext, env, volumeMounts. It takes precedence over the podTemplate of a scan',
  }),
  SCANNER_OTEL_EXPORTER_OTLP_ENDPOINT: Type.Optional(
    httpUrl('the OTLP collector address that scanner pods use, without headers; if not set, pods send no spans'),
  ),
  SCANNER_HOST_USERS: Type.Boolean({ default: false, description: 'true if the nodes do not support user namespaces, else false' }),
  SCANNER_SECCOMP_PROFILE: Type.Optional(
    Type.String({
      pattern: '^[^/\\s][^\\s]*$',
      description: "a path relative to the kubelet's seccomp profile folder, such as profiles/curbcut-scanner.json",
    }),
  ),
  POD_TEMPLATE_ALLOW: Type.String({
    pattern: `^(${FIELD}(\\s*,\\s*${FIELD})*)?$`,
    default: 'resources',
    description: `a comma-separated list of the fields of spec.podTemplate that scans may set: ${POD_TEMPLATE_FIELDS.join(', ')}`,
  }),
  POD_TEMPLATE_MAX_CPU: quantity('4', 'the highest CPU request or limit that a scan may set, such as 4 or 500m'),
  POD_TEMPLATE_MAX_MEMORY: quantity('8Gi', 'the highest memory request or limit that a scan may set, such as 8Gi'),
  SCANNER_RETRIES: integer(0, RETRIES_MAX, 2, 'the number of retries after a scanner crashes'),
  SCANNER_WORKERS: integer(1, 8, SCANNER_DEFAULTS.workers, 'the number of pages that a scanner tests in parallel'),
  SCANNER_JOB_TTL_SECONDS: integer(
    0,
    604_800,
    600,
    'the seconds for which the operator keeps the finished Job of an ended scan, and its log',
  ),
  PAGE_BUDGET_SECONDS: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 600,
      description: `the maximum seconds per page, from 1 to 600. Empty: ${PAGE_SECONDS}, and up to ${LARGE_PAGE_SECONDS} for the largest pages`,
    }),
  ),
  SCAN_WORKERS: integer(1, 256, 32, 'the number of scans that the operator reconciles concurrently'),
  MAX_RUNNING_SCANS: integer(1, 10_000, 10, 'the maximum number of running scans if the ScanQueue does not set it'),
  ...PublicQueueSettings,
  ...ScanLimitSettings,
  MAX_ENDED_SCANS_PER_ORGANISATION: integer(
    0,
    10_000,
    500,
    'the maximum number of ended AccessibilityScans of one organisation that the API created; the oldest are deleted, results are kept',
  ),
  QUEUE_DEADLINE_SECONDS: integer(1, 2_592_000, 86_400, 'the maximum seconds that a scan waits in the queue'),
  PENDING_DEADLINE_SECONDS: integer(1, 86_400, 300, 'the maximum seconds until a scanner pod starts'),
  SCAN_BASE_SECONDS: integer(1, 86_400, 300, 'the run time in seconds that every scan gets in addition to the time for its pages'),
  SCAN_MAX_SECONDS: integer(1, 604_800, 14_400, 'the maximum run time of a scan in seconds'),
  STUCK_SECONDS: integer(1, 86_400, 300, 'the seconds without progress after which a scanner is considered stuck'),
  EXPORT_MAX_MIB: integer(1, 256, 64, 'the maximum size of an export in MiB'),
  REPORT_RETENTION_DAYS: integer(7, 36_500, 90, 'the number of days to keep reports'),
  VERDICT_RETENTION_DAYS: integer(7, 36_500, 400, 'the number of days to keep the verdict of a scan, at least as long as its reports'),
  ...WebhookSettings,
  WEBHOOK_SECRETS_DIR: Type.Optional(
    Type.String({
      pattern: '^/',
      description:
        'a folder with a folder for each Secret, and in it a file for each key, with the secrets of webhooks that Organisations declare',
    }),
  ),
  ...TargetSettings,
  ...SiteTrustSettings,
  ...ScannerProxySettings,
  ...PublicAddressSettings,
});
export type Configuration = Readonly<Static<typeof Environment>> & { targets: TargetRules; scannerPod: ScannerPodTemplate };

/** @param further mistakes that were found before @throws ConfigurationError that lists all problems */
export function readOperatorConfiguration(environment: Variables, further: readonly string[] = []): Configuration {
  const { targets, problems } = readTargetRules(environment);
  const pod = readScannerPodTemplate(environment.SCANNER_POD_TEMPLATE);
  const read = readConfiguration(Environment, environment, [
    ...further,
    ...s3Problems(environment),
    ...proxyProblems(environment),
    ...problems,
    ...pod.problems,
  ]);
  return Object.freeze({ ...read, targets, scannerPod: pod.template });
}

/** What the variables of `Environment` say, in the shapes that the operator uses. */
export type OperatorSettings = ReturnType<typeof settingsOf> & {
  timeouts: Partial<Timeouts>;
  /** The pauses between two sweeps, and between two comparisons of stored data with the cluster's, in milliseconds. Only tests set them. */
  sweepEveryMs?: number;
  organisationsEveryMs?: number;
  schedulesEveryMs?: number;
  knownIssuesEveryMs?: number;
};

/** @param live the current values of credentials. Default: those of `config` */
export function settingsOf(config: Configuration, live: LiveSettings = fixedSettings(config)) {
  const pageBudgetMs = config.PAGE_BUDGET_SECONDS === undefined ? undefined : config.PAGE_BUDGET_SECONDS * 1000;
  const exportMaxBytes = config.EXPORT_MAX_MIB * 1024 * 1024;
  const scanner: ScannerSettings = {
    image: config.SCANNER_IMAGE,
    imagePullPolicy: config.SCANNER_IMAGE_PULL_POLICY,
    hostUsers: config.SCANNER_HOST_USERS,
    pod: config.scannerPod,
    seccompProfile: config.SCANNER_SECCOMP_PROFILE,
    retries: config.SCANNER_RETRIES,
  };
  const podTemplate: PodTemplateRules = {
    allow: listOf(config.POD_TEMPLATE_ALLOW) as PodTemplateField[],
    maxResources: { cpu: config.POD_TEMPLATE_MAX_CPU, memory: config.POD_TEMPLATE_MAX_MEMORY },
    resources: config.scannerPod.resources,
  };
  const pod: PodSettings = {
    allowTargets: config.targets.allow,
    denyTargets: config.targets.deny,
    workers: config.SCANNER_WORKERS,
    ...(pageBudgetMs !== undefined && { pageBudgetMs }),
    exportMaxBytes,
    contactUrl: config.PUBLIC_BASE_URL,
    otlpEndpoint: config.SCANNER_OTEL_EXPORTER_OTLP_ENDPOINT,
    privateCa: live.credential('PRIVATE_CA'),
    siteCa: live.credential('SITE_CA'),
    proxy: outboundProxyOf(live, 'SCANNER_'),
  };
  const runTime: RunTime = {
    pendingDeadlineSeconds: config.PENDING_DEADLINE_SECONDS,
    baseSeconds: config.SCAN_BASE_SECONDS,
    maxSeconds: config.SCAN_MAX_SECONDS,
    workers: config.SCANNER_WORKERS,
    pageBudgetMs: pageBudgetMs ?? PAGE_SECONDS * 1000,
  };
  const watchNamespaces: readonly string[] =
    config.WATCH_NAMESPACES === '' ? [] : [config.CURBCUT_NAMESPACE, ...listOf(config.WATCH_NAMESPACES)];
  return {
    /** That of submitted scans, the queues and the lease. */
    namespace: config.CURBCUT_NAMESPACE,
    operatorClass: config.CURBCUT_CLASS,
    /** Empty: all namespaces. */
    watchNamespaces,
    leaseSeconds: config.LEASE_SECONDS,
    scanWorkers: config.SCAN_WORKERS,
    maxRunning: config.MAX_RUNNING_SCANS,
    maxRunningPublic: config.MAX_RUNNING_PUBLIC_SCANS,
    maxPagesLimit: config.MAX_PAGES_LIMIT,
    maxEndedPerOrganisation: config.MAX_ENDED_SCANS_PER_ORGANISATION,
    targets: config.targets,
    scanner,
    podTemplate,
    pod,
    runTime,
    timeouts: {
      queueMs: config.QUEUE_DEADLINE_SECONDS * 1000,
      pendingMs: config.PENDING_DEADLINE_SECONDS * 1000,
      stuckMs: config.STUCK_SECONDS * 1000,
      jobTtlMs: config.SCANNER_JOB_TTL_SECONDS * 1000,
    },
    /** The memory exceeds the need of any `isParseable` text. */
    ingest: { exportMaxBytes, memoryMib: exportMemoryMib(config.EXPORT_MAX_MIB) },
    retentionDays: config.REPORT_RETENTION_DAYS,
    verdictDays: Math.max(config.VERDICT_RETENTION_DAYS, config.REPORT_RETENTION_DAYS),
    /** For links in messages, without a slash at its end. Null: it is not configured. */
    publicBaseUrl: config.PUBLIC_BASE_URL?.replace(/\/+$/, '') ?? null,
    webhooks: config.WEBHOOKS,
    /** The folder with the mounted Secrets of webhooks that manifests declare. Null: none is mounted. */
    webhookSecrets: config.WEBHOOK_SECRETS_DIR ?? null,
  };
}

type Watched = Pick<OperatorSettings, 'watchNamespaces' | 'operatorClass'>;

export const watchesNamespace = ({ watchNamespaces }: Pick<Watched, 'watchNamespaces'>, namespace: string): boolean =>
  watchNamespaces.length === 0 || watchNamespaces.includes(namespace);

export const watches = (watched: Watched, scan: AccessibilityScan): boolean =>
  watchesNamespace(watched, scan.metadata.namespace!) && classOf(scan) === watched.operatorClass;
