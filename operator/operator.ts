/** Composes the operator: the controllers and the sweeper, which run only while this replica holds the lease. */
import { DEFAULT_CLASS } from '../core/protocol/custom-resources.ts';
import type { Logger } from '../platform/logger.ts';
import type { Resolver } from '../core/scan/targets.ts';
import type { Tracer } from '../platform/tracing.ts';
import type { KubernetesConnection } from '../platform/kubernetes/kubernetes.ts';
import type { MessageBus } from '../stores/nats.ts';
import type { Reports } from '../stores/reports.ts';
import type { AllStores } from '../stores/stores.ts';
import { createEndedScansTask, createSitesTask } from './maintenance/ended-scans.ts';
import { createSweeper } from './maintenance/sweeper.ts';
import type { OperatorMetrics } from './metrics.ts';
import { addKnownIssuesController } from './known-issues/controller.ts';
import { addOrganisationController } from './organisation/controller.ts';
import { addQueueController } from './queue/controller.ts';
import { createAdmissionGate } from './queue/places.ts';
import { addMisplacedQueues, watchQueues } from './queue/queue-client.ts';
import { addStateController } from './queue/state.ts';
import { systemClock, type Clock } from '../platform/clock.ts';
import { runLeaderElection } from './runtime/leader-election.ts';
import type { PeriodicTask } from '../platform/periodic.ts';
import { createManager, type Manager } from './runtime/manager.ts';
import { createRecorder, type Recorder } from './runtime/events.ts';
import { addScheduleController } from './schedule/controller.ts';
import { addScanController } from './scan/controller.ts';
import { createSemaphore, ONE_AT_A_TIME } from '../platform/concurrency/semaphore.ts';
import { createChildren } from './scan/launch/children.ts';
import { createMirror } from './scan/mirror.ts';
import { createReportComparer, type ReportComparer } from '../report/workers/compare.ts';
import { watchScans } from './scan/kube-types.ts';
import type { Verifier } from './scan/results/verifier.ts';
import { createAnnounceTask } from './webhooks/announce.ts';
import type { OperatorSettings } from './settings.ts';

export interface OperatorDeps {
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

/** The name of the operator in the `managedFields` and Events of the objects that it writes. */
export const FIELD_MANAGER = 'curbcut-operator';
/** Each class has its own Lease, because each has its own leader. */
export const leaseOf = (operatorClass: string) =>
  operatorClass === DEFAULT_CLASS ? 'curbcut-operator' : `curbcut-operator-${operatorClass}`;
const SWEEP_EVERY_MS = 60_000;
const ENDED_EVERY_MS = 10_000;
/** A submission takes at most 60 s. A row that is still pending after this time was abandoned. */
const PENDING_FOR_MS = 120_000;
/** A live row that has not changed for this time is compared with its resource. */
const STALE_FOR_MS = 300_000;

/** Runs until the signal aborts: campaigns for the lease, and reconciles while it holds it. */
export function runOperator(deps: OperatorDeps, signal: AbortSignal): Promise<void> {
  const { connection, settings, metrics, identity, logger, clock = systemClock } = deps;
  const leaseDurationMs = settings.leaseSeconds * 1000;
  const lease = leaseOf(settings.operatorClass);
  // The alert for a missing leader needs the series of replicas that never lead, too.
  metrics.runtime.leading(lease, false);
  return runLeaderElection({
    connection,
    namespace: settings.namespace,
    name: lease,
    identity,
    clock,
    logger,
    metrics: metrics.runtime,
    signal,
    leaseDurationMs,
    renewDeadlineMs: (leaseDurationMs * 2) / 3,
    retryPeriodMs: Math.min(2_000, leaseDurationMs / 8),
    whileLeading: (stop, lost) => work({ ...deps, clock }, stop, lost),
  });
}

/** One term as the leader. `stop` lets running writes finish; `lost` ends them. */
async function work(deps: OperatorDeps & { clock: Clock }, stop: AbortSignal, lost: AbortSignal): Promise<void> {
  const { connection, metrics, logger, clock } = deps;
  const manager = createManager({ connection, logger, clock, metrics: metrics.runtime });
  const onDropped = metrics.runtime.eventDropped;
  const recorder = createRecorder({ connection, component: FIELD_MANAGER, instance: deps.identity, logger, clock, onDropped });
  compose(deps, manager, recorder);
  try {
    await manager.run(stop, lost);
  } finally {
    if (!lost.aborted) await recorder.flush();
    metrics.stoppedLeading();
  }
}

function compose(deps: OperatorDeps & { clock: Clock }, manager: Manager, recorder: Recorder): void {
  const { connection, stores, settings, metrics, logger, clock } = deps;
  const { namespace: apiNamespace, watchNamespaces, operatorClass } = settings;
  const scanClient = watchScans(manager, settings);
  const mirror = createMirror({
    ...stores,
    bus: deps.bus,
    onUncharged(scan, pages) {
      metrics.uncharged();
      recorder.event(scan, 'Warning', 'NotCharged', `${pages} pages were tested, but the scan held no credits, so nothing was charged.`);
    },
  });

  const { readability, undeclared } = addOrganisationController(manager, deps);
  const { queueStates } = stores;
  const gate = createAdmissionGate(clock);
  const queueClient = watchQueues(manager, queueStates, apiNamespace);
  const largeExports = createSemaphore(ONE_AT_A_TIME);
  const writeRowAgain = addScanController(manager, { ...deps, scanClient, mirror, gate, queueClient, largeExports, recorder });
  const queueDeps = { scanClient, queueClient, queueStates, gate, organisations: readability, settings, metrics, logger, clock };
  addQueueController(manager, queueDeps);
  addStateController(manager, queueDeps);
  addMisplacedQueues(manager, settings, clock);
  const comparer = deps.comparer ?? createReportComparer({ reports: deps.reports, bounds: settings.ingest, largeExports, logger });
  addScheduleController(manager, { ...deps, scanClient, comparer, recorder });
  addKnownIssuesController(manager, { ...deps, scanClient, recorder });
  const sweep = createSweeper({
    ...stores,
    connection,
    scanClient,
    reports: deps.reports,
    mirror,
    watched: { namespaces: watchNamespaces, operatorClass },
    children: createChildren(connection),
    onEnd: metrics.ended,
    reconcileAgain: writeRowAgain,
    apiNamespace,
    retentionDays: settings.retentionDays,
    verdictDays: settings.verdictDays,
    pendingForMs: PENDING_FOR_MS,
    staleForMs: STALE_FOR_MS,
    logger,
    now: clock.now,
  });
  manager.addTask(createSitesTask(stores));
  if (!settings.webhooks) logger.warn({}, 'webhooks are off, events are dropped');
  manager.addTask(createAnnounceTask({ ...deps, undeclared: undeclared.organisations, now: clock.now }));
  manager.addTask(createEndedScansTask({ scanClient, apiNamespace, keep: settings.maxEndedPerOrganisation, everyMs: ENDED_EVERY_MS }));
  manager.addTask(sweepTask(sweep, settings.sweepEveryMs ?? SWEEP_EVERY_MS, metrics));
}

function sweepTask(sweep: ReturnType<typeof createSweeper>, everyMs: number, metrics: OperatorMetrics): PeriodicTask {
  return {
    name: 'sweep',
    everyMs,
    async run(signal) {
      try {
        metrics.swept(await sweep(signal));
      } catch (error) {
        if (!signal.aborted) metrics.swept(null);
        throw error;
      }
    },
  };
}
