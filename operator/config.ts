/** What the operator reads from its environment. */
import type { Static } from 'typebox';
import { Type, listOf, readConfiguration, secret } from '../platform/configuration.ts';
import {
  choice,
  DatabaseSettings,
  httpUrl,
  KubernetesSettings,
  NAMESPACE_PATTERN,
  NatsSettings,
  natsUrl,
  port,
  ProcessSettings,
  S3Settings,
  TargetSettings,
  text,
  TracingSettings,
} from '../platform/settings.ts';
import { readTargetRules } from '../platform/target-rules.ts';
import type { TargetRules } from '../core/scan/targets.ts';
import type { OperatorSettings } from './settings.ts';

const PULL_POLICIES = ['IfNotPresent', 'Always', 'Never'] as const;
const SUBDOMAIN = '[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?';

const whole = (from: number, to: number, fallback: number, of: string) =>
  Type.Integer({ minimum: from, maximum: to, default: fallback, description: `${of}, from ${from} to ${to}` });
const quantity = (fallback: string, description: string) =>
  Type.String({ pattern: '^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$', default: fallback, description });

export const Environment = Type.Object({
  ...ProcessSettings,
  METRICS_PORT: port(9090),
  ...KubernetesSettings,
  WATCH_NAMESPACES: Type.String({
    pattern: `^(${NAMESPACE_PATTERN}(\\s*,\\s*${NAMESPACE_PATTERN})*)?$`,
    default: '',
    description: 'a comma-separated list of the namespaces whose scans are run beside those of CURBCUT_NAMESPACE; empty means all',
  }),
  LEASE_SECONDS: whole(3, 300, 15, 'the seconds after which another replica takes over from one that is silent'),
  ...DatabaseSettings,
  ...NatsSettings,
  NATS_POD_URL: Type.Optional(natsUrl('the address of NATS as pods reach it')),
  NATS_SIGNING_SEED: Type.Optional(
    Type.String({ pattern: '^SA[A-Z2-7]{56}$', ...secret, description: 'the seed (SA…) of the NATS account that vouches for scans' }),
  ),
  ...S3Settings,
  S3_POD_ENDPOINT: Type.Optional(httpUrl('the address of the object store as pods reach it, for upload links')),
  ...TracingSettings,
  SCANNER_IMAGE: text('the name of the scanner image'),
  SCANNER_IMAGE_PULL_POLICY: choice(PULL_POLICIES, 'IfNotPresent'),
  SCANNER_IMAGE_PULL_SECRETS: Type.String({ default: '', description: "a comma-separated list of Secrets in the scans' namespaces" }),
  SCANNER_OTEL_EXPORTER_OTLP_ENDPOINT: Type.Optional(
    httpUrl('the address of the collector as pods reach it, which send no headers; absent, pods send no spans'),
  ),
  SCANNER_HOST_USERS: Type.Boolean({ default: false, description: 'true where the nodes have no user namespaces, else false' }),
  SCANNER_PRIORITY_CLASS: Type.Optional(
    Type.String({ pattern: `^${SUBDOMAIN}$`, description: 'the name of a PriorityClass for scans that name none' }),
  ),
  SCANNER_RUNTIME_CLASS: Type.Optional(
    Type.String({ pattern: `^${SUBDOMAIN}$`, description: 'the name of a RuntimeClass, which then goes before that of a scan' }),
  ),
  SCANNER_SECCOMP_PROFILE: Type.Optional(
    Type.String({
      pattern: '^[^/\\s][^\\s]*$',
      description: "a file below the kubelet's folder of seccomp profiles, such as profiles/curbcut-scanner.json",
    }),
  ),
  SCANNER_CPU_REQUEST: quantity('500m', 'an amount of CPU such as 500m'),
  SCANNER_MEMORY_REQUEST: quantity('768Mi', 'an amount of memory such as 768Mi'),
  SCANNER_MEMORY_LIMIT: quantity('2Gi', 'an amount of memory such as 2Gi'),
  SCANNER_RETRIES: whole(0, 10, 2, 'how often a crashed scanner is tried again'),
  SCANNER_WORKERS: whole(1, 8, 2, 'the pages that one scanner tests side by side'),
  SCANNER_JOB_TTL_SECONDS: whole(0, 604_800, 600, 'the seconds for which a finished Job and its log are kept'),
  PAGE_BUDGET_SECONDS: whole(1, 600, 30, 'the seconds that one page may take'),
  MAX_RUNNING_SCANS: whole(1, 10_000, 10, 'the scans that run at once where the ScanQueue does not say'),
  MAX_PAGES_LIMIT: whole(1, 10_000, 500, 'the most pages of one scan'),
  QUEUE_DEADLINE_SECONDS: whole(1, 2_592_000, 86_400, 'the seconds that a scan may wait for its turn'),
  PENDING_DEADLINE_SECONDS: whole(1, 86_400, 300, 'the seconds within which a pod must start'),
  SCAN_BASE_SECONDS: whole(1, 86_400, 300, 'the seconds that every scan gets beside those for its pages'),
  SCAN_MAX_SECONDS: whole(1, 604_800, 14_400, 'the most seconds that a scan may run'),
  STUCK_SECONDS: whole(1, 86_400, 300, 'the seconds of silence after which a scanner counts as stuck'),
  EXPORT_MAX_MIB: whole(1, 256, 64, 'the largest export that is taken in, in MiB'),
  REPORT_RETENTION_DAYS: whole(7, 36_500, 90, 'the days for which reports are kept'),
  ...TargetSettings,
});
export type Configuration = Readonly<Static<typeof Environment>> & { targets: TargetRules };

/** @throws ConfigurationError with every mistake at once */
export function readOperatorConfiguration(environment: Record<string, string | undefined>): Configuration {
  const { targets, problems } = readTargetRules(environment);
  const read = readConfiguration(Environment, environment, problems);
  return Object.freeze({ ...read, targets });
}

/** The configuration in the operator's own words. */
export function settingsOf(config: Configuration): OperatorSettings {
  const pageBudgetMs = config.PAGE_BUDGET_SECONDS * 1000;
  return {
    namespace: config.CURBCUT_NAMESPACE,
    watchNamespaces: config.WATCH_NAMESPACES === '' ? [] : [config.CURBCUT_NAMESPACE, ...listOf(config.WATCH_NAMESPACES)],
    leaseSeconds: config.LEASE_SECONDS,
    maxRunning: config.MAX_RUNNING_SCANS,
    maxPagesLimit: config.MAX_PAGES_LIMIT,
    targets: config.targets,
    scanner: {
      image: config.SCANNER_IMAGE,
      imagePullPolicy: config.SCANNER_IMAGE_PULL_POLICY,
      imagePullSecrets: listOf(config.SCANNER_IMAGE_PULL_SECRETS),
      hostUsers: config.SCANNER_HOST_USERS,
      priorityClassName: config.SCANNER_PRIORITY_CLASS,
      runtimeClassName: config.SCANNER_RUNTIME_CLASS,
      seccompProfile: config.SCANNER_SECCOMP_PROFILE,
      requests: { cpu: config.SCANNER_CPU_REQUEST, memory: config.SCANNER_MEMORY_REQUEST },
      limits: { memory: config.SCANNER_MEMORY_LIMIT },
      retries: config.SCANNER_RETRIES,
      jobTtlSeconds: config.SCANNER_JOB_TTL_SECONDS,
    },
    pod: {
      allowTargets: config.targets.allow,
      denyTargets: config.targets.deny,
      workers: config.SCANNER_WORKERS,
      pageBudgetMs,
      otlpEndpoint: config.SCANNER_OTEL_EXPORTER_OTLP_ENDPOINT,
    },
    runTime: {
      pendingDeadlineSeconds: config.PENDING_DEADLINE_SECONDS,
      baseSeconds: config.SCAN_BASE_SECONDS,
      maxSeconds: config.SCAN_MAX_SECONDS,
      workers: config.SCANNER_WORKERS,
      pageBudgetMs,
    },
    timeouts: {
      queueMs: config.QUEUE_DEADLINE_SECONDS * 1000,
      pendingMs: config.PENDING_DEADLINE_SECONDS * 1000,
      stuckMs: config.STUCK_SECONDS * 1000,
    },
    // The text, its strings and about 130 bytes for each of the values that `isParseable` lets through: below ten times the size.
    ingest: {
      exportMaxBytes: config.EXPORT_MAX_MIB * 1024 * 1024,
      pdfMaxBytes: Number.MAX_SAFE_INTEGER,
      memoryMib: 256 + 12 * config.EXPORT_MAX_MIB,
    },
    retentionDays: config.REPORT_RETENTION_DAYS,
  };
}
