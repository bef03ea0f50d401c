/** Composes the operator: the controllers and the sweeper, which run only while this replica holds the lease. */
import type { Logger } from '../platform/logger.ts';
import type { Resolver } from '../core/scan/targets.ts';
import type { Tracer } from '../platform/tracing.ts';
import type { KubernetesConnection } from '../platform/kubernetes/kubernetes.ts';
import type { MessageBus } from '../stores/nats.ts';
import type { Reports } from '../stores/reports.ts';
import type { AllStores } from '../stores/stores.ts';
import { createSweeper } from './maintenance/sweeper.ts';
import type { OperatorMetrics } from './metrics.ts';
import { createQueueController } from './queue/controller.ts';
import { systemClock, type Clock } from './runtime/clock.ts';
import { keyOf } from './runtime/key.ts';
import { runLeaderElection } from './runtime/leader-election.ts';
import { createManager, type Manager, type PeriodicTask } from './runtime/manager.ts';
import { createRecorder, type Recorder } from './runtime/recorder.ts';
import { createScanController } from './scan/controller.ts';
import { createMirror } from './scan/mirror.ts';
import { watchScans } from './scan/scan-client.ts';
import type { OperatorSettings } from './settings.ts';

export interface OperatorDeps {
  connection: KubernetesConnection;
  stores: Pick<AllStores, 'scans' | 'credits' | 'organisations' | 'queueStates'>;
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
}

const LEASE = 'curbcut-operator';
const SWEEP_EVERY_MS = 60_000;
/** A submission takes at most 60 s. A row that is still pending after this time was abandoned. */
const PENDING_FOR_MS = 120_000;
/** A live row that has not changed for this time is compared with its resource. */
const STALE_FOR_MS = 300_000;

/** Runs until the signal aborts: campaigns for the lease, and reconciles while it holds it. */
export function runOperator(deps: OperatorDeps, signal: AbortSignal): Promise<void> {
  const { connection, settings, metrics, identity, logger, clock = systemClock } = deps;
  const leaseDurationMs = settings.leaseSeconds * 1000;
  return runLeaderElection({
    connection,
    namespace: settings.namespace,
    name: LEASE,
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
  const recorder = createRecorder({ connection, component: 'curbcut-operator', instance: deps.identity, logger, clock });
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
  const { namespace: apiNamespace, watchNamespaces } = settings;
  const scanClient = watchScans({ manager, connection, apiNamespace, watchNamespaces });
  const mirror = createMirror({ ...stores, bus: deps.bus });

  const scans = createScanController({ ...deps, manager, scanClient, mirror, recorder });
  const enqueueScan = manager.add(scans);
  manager.add(
    createQueueController({
      manager,
      connection,
      scanClient,
      queueStates: stores.queueStates,
      recorder,
      metrics,
      namespace: apiNamespace,
      defaultMaxRunning: settings.maxRunning,
      clock,
    }),
  );
  const sweep = createSweeper({
    ...stores,
    connection,
    scanClient,
    reports: deps.reports,
    mirror,
    reconcileAgain(scan) {
      scans.forgetMirrored(scan);
      enqueueScan(keyOf(scan));
    },
    apiNamespace,
    retentionDays: settings.retentionDays,
    pendingForMs: PENDING_FOR_MS,
    staleForMs: STALE_FOR_MS,
    logger,
    now: () => new Date(clock.now()),
  });
  manager.addTask(sweepTask(sweep, settings.sweepEveryMs ?? SWEEP_EVERY_MS, metrics));
}

function sweepTask(sweep: ReturnType<typeof createSweeper>, everyMs: number, metrics: OperatorMetrics): PeriodicTask {
  return {
    name: 'sweep',
    everyMs,
    async run() {
      try {
        metrics.swept(await sweep());
      } catch (error) {
        metrics.swept(null);
        throw error;
      }
    },
  };
}
