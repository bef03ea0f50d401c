/** What all parts of the operator share during one term as the leader: connections, settings, metrics, caches and memory. */
import type { AccessibilityScan } from '../core/protocol/custom-resources.ts';
import type { Resolver } from '../core/scan/targets.ts';
import { systemClock, type Clock } from '../platform/clock.ts';
import { createSemaphore, ONE_AT_A_TIME, type Semaphore } from '../platform/concurrency/semaphore.ts';
import type { KubernetesConnection } from '../platform/kubernetes/kubernetes.ts';
import type { Logger } from '../platform/logger.ts';
import { NO_TRACER, type Tracer } from '../platform/tracing.ts';
import { createReportComparer, type ReportComparer } from '../report/workers/compare.ts';
import type { MessageBus } from '../stores/nats.ts';
import type { Reports } from '../stores/reports.ts';
import type { AllStores } from '../stores/stores.ts';
import type { OperatorSettings } from './config.ts';
import type { OperatorMetrics } from './metrics.ts';
import { createAdmissionGate, type AdmissionGate } from './queue/places.ts';
import { watchQueues, type QueueClient } from './queue/queue-client.ts';
import type { Cache } from './runtime/cache.ts';
import type { Recorder } from './runtime/events.ts';
import type { Manager } from './runtime/manager.ts';
import type { ResourceClient } from './runtime/resource-client.ts';
import { shareOfScans, watchJobs, watchPods, watchScans, type Job, type Pod } from './scan/kube-types.ts';
import { createChildren, watchStartFailures, type Children, type StartFailure } from './scan/launch/children.ts';
import { newReconcileState, type ReconcileStates } from './scan/policy/facts.ts';
import { createPodMessageLog, type PodMessageLog } from './scan/results/pod-message-log.ts';
import { createVerifier, type Verifier } from './scan/results/verifier.ts';
import { createStates } from './runtime/controller.ts';

export interface OperatorOptions {
  connection: KubernetesConnection;
  stores: AllStores;
  reports: Reports;
  bus: MessageBus;
  resolver: Resolver;
  settings: OperatorSettings;
  metrics: OperatorMetrics;
  /** Default: no tracing. */
  tracer?: Tracer;
  /** The holder identity of this replica in the Lease, unique among all replicas. */
  identity: string;
  logger: Logger;
  clock?: Clock;
  /** Default: one that reads the reports. */
  comparer?: ReportComparer;
  /** Default: one with worker threads. */
  verifier?: Verifier;
}

export interface OperatorContext extends Required<OperatorOptions> {
  manager: Manager;
  recorder: Recorder;
  /** Has the indexes `id` (of the scan), `queue`, and `owner` (its uid). */
  scanClient: ResourceClient<AccessibilityScan>;
  jobs: ResourceClient<Job>;
  /** Has the index `owner`, by the uid of the Job. */
  pods: Cache<Pod>;
  /** Have the index `object`, by the uid of the Job or pod. */
  startFailures: readonly Cache<StartFailure>[];
  children: Children;
  queueClient: QueueClient;
  gate: AdmissionGate;
  /** Whose work a scan is, by its key. */
  shareOf: (key: string) => string;
  scanStates: ReconcileStates;
  podMessages: PodMessageLog;
  /** Held while a large export is verified or compared. */
  largeExports: Semaphore;
}

export function createContext(options: OperatorOptions, manager: Manager, recorder: Recorder): OperatorContext {
  const { settings, reports, logger, clock = systemClock } = options;
  const { ingest, watchNamespaces } = settings;
  const largeExports = createSemaphore(ONE_AT_A_TIME);
  const scanClient = watchScans(manager, settings);
  return {
    ...options,
    clock,
    tracer: options.tracer ?? NO_TRACER,
    comparer: options.comparer ?? createReportComparer({ reports, bounds: ingest, largeExports, logger }),
    verifier: options.verifier ?? createVerifier({ memoryMib: ingest.memoryMib }),
    manager,
    recorder,
    scanClient,
    shareOf: shareOfScans(scanClient, settings.namespace),
    jobs: watchJobs(manager, watchNamespaces),
    pods: watchPods(manager, watchNamespaces),
    startFailures: watchStartFailures(manager, watchNamespaces),
    children: createChildren(options.connection),
    queueClient: watchQueues(manager, options.stores.queueStates, settings.namespace),
    gate: createAdmissionGate(clock),
    scanStates: createStates(newReconcileState),
    podMessages: createPodMessageLog(),
    largeExports,
  };
}
