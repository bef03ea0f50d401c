/** The settings of an operator, as `config.ts` derives them from the environment. */
import type { TargetRules } from '../core/scan/targets.ts';
import type { ScannerSettings } from './scan/launch/job.ts';
import type { PodSettings } from './scan/launch/secret.ts';
import type { Timeouts } from './scan/policy/plan.ts';
import type { RunTime } from './scan/policy/run-time.ts';
import type { IngestBounds } from './scan/results/ingest.ts';

export interface OperatorSettings {
  /** The namespace of submitted scans, the queue and the lease. */
  namespace: string;
  /** Empty: all namespaces. */
  watchNamespaces: readonly string[];
  leaseSeconds: number;
  /** The maximum number of running scans if the ScanQueue does not set it. */
  maxRunning: number;
  maxPagesLimit: number;
  targets: TargetRules;
  scanner: ScannerSettings;
  pod: PodSettings;
  runTime: RunTime;
  timeouts: Pick<Timeouts, 'queueMs' | 'pendingMs' | 'stuckMs'> & Partial<Timeouts>;
  ingest: IngestBounds;
  retentionDays: number;
  /** The pause between two runs of the sweeper, in milliseconds. Default 60,000. */
  sweepEveryMs?: number;
}
