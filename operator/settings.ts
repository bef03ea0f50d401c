/** The settings of an operator, as `config.ts` derives them from the environment. */
import type { TargetRules } from '../core/scan/targets.ts';
import { type AccessibilityScan, classOf } from '../core/protocol/custom-resources.ts';
import type { ScannerSettings } from './scan/launch/job.ts';
import type { PodSettings } from './scan/launch/launch.ts';
import type { PodTemplateRules } from './scan/launch/pod-template.ts';
import type { Timeouts } from './scan/policy/facts.ts';
import type { RunTime } from './scan/policy/facts.ts';
import type { IngestBounds } from './scan/results/ingest.ts';
export interface OperatorSettings {
  /** The namespace of submitted scans, the queue and the lease. */
  namespace: string;
  /** The operator acts only on scans of this class. */
  operatorClass: string;
  /** Empty: all namespaces. */
  watchNamespaces: readonly string[];
  leaseSeconds: number;
  /** The number of scans that are reconciled concurrently. */
  scanWorkers: number;
  /** The maximum number of running scans if the ScanQueue does not set it. */
  maxRunning: number;
  /** The same for the public queue. */
  maxRunningPublic: number;
  maxPagesLimit: number;
  /** The maximum number of ended resources of one organisation that the API created. */
  maxEndedPerOrganisation: number;
  targets: TargetRules;
  scanner: ScannerSettings;
  podTemplate: PodTemplateRules;
  pod: PodSettings;
  runTime: RunTime;
  timeouts: Pick<Timeouts, 'queueMs' | 'pendingMs' | 'stuckMs' | 'jobTtlMs'> & Partial<Timeouts>;
  ingest: IngestBounds;
  /** Days to keep the reports of an ended scan, and its verdict. */
  retentionDays: number;
  verdictDays: number;
  /** The service's base address without a slash at its end, for links in messages. Null: it is not configured. */
  publicBaseUrl: string | null;
  /** Whether webhooks are sent. If not, their events are dropped, and those of manifests are not applied. */
  webhooks: boolean;
  /** The folder with the mounted Secrets of webhooks that manifests declare. Null: none is mounted. */
  webhookSecrets: string | null;
  /** The pause between two runs of the sweeper, in milliseconds. Default 60,000. */
  sweepEveryMs?: number;
  /** The pause between two reads of the credits of all organisations with a manifest, in milliseconds. Default 10,000. */
  organisationsEveryMs?: number;
  /** The pause between two comparisons of the stored schedules with the cluster's, in milliseconds. Default 60,000. */
  schedulesEveryMs?: number;
  /** The pause between two comparisons of the stored known issues with the cluster's, in milliseconds. Default 60,000. */
  knownIssuesEveryMs?: number;
}

/** Which scans this operator acts on. Pure. */
export interface Watched {
  /** Empty: all namespaces. */
  namespaces: readonly string[];
  operatorClass: string;
}

/** Whether the operator acts on the scans of a namespace. */
export const watchesNamespace = ({ namespaces }: Pick<Watched, 'namespaces'>, namespace: string): boolean =>
  namespaces.length === 0 || namespaces.includes(namespace);

/** Whether the operator acts on a scan. */
export const watches = (watched: Watched, scan: AccessibilityScan): boolean =>
  watchesNamespace(watched, scan.metadata.namespace!) && classOf(scan) === watched.operatorClass;
