/** Puts the operator together from its dependencies: caches, controllers and the sweeper, alive only while this replica leads. */
import { SCAN_ID_LABEL, scanIdOf, type AccessibilityScan, type ScanQueue } from '../core/protocol/custom-resources.ts';
import type { Logger } from '../platform/logger.ts';
import { NO_TRACER, type Tracer } from '../platform/tracing.ts';
import type { Resolver, TargetRules } from '../core/scan/targets.ts';
import type { Bus } from '../stores/nats.ts';
import type { KubernetesConnection } from '../platform/kubernetes/kubernetes.ts';
import type { AllStores } from '../stores/stores.ts';
import type { Reports } from '../stores/reports.ts';
import { instrumentIngestion } from './scan/results/instrumented.ts';
import type { OperatorMetrics } from './metrics.ts';
import { createQueueReconciler } from './queue/queue.ts';
import { systemClock, sleep, type Clock } from './runtime/clock.ts';
import { startController } from './runtime/controller.ts';
import { createRecorder } from './runtime/recorder.ts';
import { keyOf } from './runtime/key.ts';
import { runLeaderElection } from './runtime/leader-election.ts';
import { createWorkqueue } from './runtime/workqueue.ts';
import { createActions } from './scan/actions.ts';
import { createChildren } from './scan/launch/children.ts';
import { createMirror } from './scan/mirror.ts';
import { createGather } from './scan/gather.ts';
import { createIngestion, type IngestBounds } from './scan/results/ingest.ts';
import { createPreflight } from './scan/launch/preflight.ts';
import type { ScannerSettings } from './scan/launch/job.ts';
import { JOBS, PODS, QUEUES, SCANS, essentialJob, essentialPod, withoutFieldOwners, type Job, type Pod } from './scan/kube-types.ts';
import { createReconcileStates } from './scan/reconcile-state.ts';
import type { RunTime } from './scan/policy/run-time.ts';
import type { Timeouts } from './scan/policy/plan.ts';
import { createPodMessageLog } from './scan/results/pod-message-log.ts';
import { createReconcile } from './scan/reconcile.ts';
import { createScanClient } from './scan/scan-client.ts';
import type { PodSettings } from './scan/launch/secret.ts';
import { createPhaseTracker } from './scan/phase-metrics.ts';
import { hasEnded } from './scan/policy/status.ts';
import { createSweeper } from './maintenance/sweeper.ts';
import { createScanTraces } from './scan/traces.ts';
import { watchNamespaces } from './runtime/multi-namespace-cache.ts';

export interface OperatorSettings {
  /** Where submitted scans, the queue and the lease live. */
  namespace: string;
  /** Empty: every namespace. */
  watchNamespaces: readonly string[];
  leaseSeconds: number;
  /** Scans that run at once where the queue does not say. */
  maxRunning: number;
  maxPagesLimit: number;
  targets: TargetRules;
  scanner: ScannerSettings;
  pod: PodSettings;
  runTime: RunTime;
  timeouts: Pick<Timeouts, 'queueMs' | 'pendingMs' | 'stuckMs'> & Partial<Timeouts>;
  ingest: IngestBounds;
  retentionDays: number;
  /** How often the sweeper sweeps. Default a minute. */
  sweepEveryMs?: number;
}

export interface OperatorDeps {
  connection: KubernetesConnection;
  stores: Pick<AllStores, 'scans' | 'credits' | 'organisations' | 'queueStates'>;
  reports: Reports;
  bus: Bus;
  resolver: Resolver;
  settings: OperatorSettings;
  metrics: OperatorMetrics;
  /** Absent: nothing is traced. */
  tracer?: Tracer;
  /** Which replica this is: unique among all. */
  identity: string;
  logger: Logger;
  clock?: Clock;
}

const LEASE = 'curbcut-operator';
/** Scans that are worked on at the same time. */
const WORKERS = 8;
/** How often the queue is looked at although nothing happens. */
const QUEUE_EVERY_MS = 10_000;
/** How often the connection to the bus is looked at: a break that is shorter loses no more than a message. */
const BUS_EVERY_MS = 1_000;
/** A submission has 60 s; its row is looked at well after that. */
const PENDING_FOR_MS = 120_000;
const STALE_FOR_MS = 300_000;

const TIMEOUTS: Omit<Timeouts, 'queueMs' | 'pendingMs' | 'stuckMs'> = {
  lostPodMs: 60_000,
  lingerMs: 60_000,
  lateNewsMs: 5_000,
  statusEveryMs: 5_000,
  mirrorEveryMs: 500,
};

/** Runs until the signal aborts: campaigns for the lease, and works while it has it. */
export function runOperator(parts: OperatorDeps, signal: AbortSignal): Promise<void> {
  const { connection, settings, metrics, identity, logger, clock = systemClock } = parts;
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
    whileLeading: (stop, lost) => work(parts, clock, stop, lost),
  });
}

/** One reign: from the first list to the last write. `lost` ends every write; `stop` alone lets them finish. */
async function work(parts: OperatorDeps, clock: Clock, stop: AbortSignal, lost: AbortSignal): Promise<void> {
  const { connection, stores, reports, bus, settings, metrics, logger } = parts;
  const { scans, credits, organisations, queueStates } = stores;
  const apiNamespace = settings.namespace;
  const now = () => new Date(clock.now());
  const common = { connection, logger, clock, metrics: metrics.runtime };
  const owners = (object: Job | Pod) =>
    object.metadata.ownerReferences?.filter((owner) => owner.controller).map((owner) => owner.uid) ?? [];

  const scanCache = watchNamespaces<AccessibilityScan>(
    { ...common, resource: SCANS, keep: withoutFieldOwners, indexes: { id: (scan) => [scanIdOf(scan, apiNamespace)] } },
    settings.watchNamespaces,
  );
  const jobCache = watchNamespaces<Job>(
    { ...common, resource: JOBS, keep: essentialJob, labelSelector: SCAN_ID_LABEL },
    settings.watchNamespaces,
  );
  const podCache = watchNamespaces<Pod>(
    { ...common, resource: PODS, keep: essentialPod, labelSelector: SCAN_ID_LABEL, indexes: { owner: owners } },
    settings.watchNamespaces,
  );
  const queueCache = watchNamespaces<ScanQueue>({ ...common, resource: QUEUES }, [apiNamespace]);
  const caches = [scanCache, jobCache, podCache, queueCache];

  const scanQueue = createWorkqueue({ clock, name: 'scans', metrics: metrics.runtime });
  const lineQueue = createWorkqueue({ clock, name: 'queue', metrics: metrics.runtime, maxDelayMs: 5_000 });
  const recorder = createRecorder({ connection, component: 'curbcut-operator', instance: parts.identity, logger, clock });
  const podMessages = createPodMessageLog();
  const states = createReconcileStates();
  const stages = createPhaseTracker({ now, onMove: metrics.moved });
  const scanClient = createScanClient(connection, scanCache);
  const children = createChildren(connection);
  const mirror = createMirror({ scans, credits, bus });
  const line = () => lineQueue.add('queue');
  const busSince = followConnection(bus, clock, stop);

  scanCache.onChange(({ type, object }) => {
    scanClient.seen(object, type === 'deleted');
    if (type !== 'deleted') stages.seen(object);
    else {
      stages.gone(object);
      states.forget(object.metadata.uid!);
      podMessages.forget(scanIdOf(object, apiNamespace));
    }
    scanQueue.add(keyOf(object));
    line();
  });
  const wakeScan = (object: Job | Pod) => {
    for (const scan of scanCache.byIndex('id', object.metadata.labels?.[SCAN_ID_LABEL] ?? '')) scanQueue.add(keyOf(scan));
  };
  jobCache.onChange(({ object }) => wakeScan(object));
  podCache.onChange(({ object }) => wakeScan(object));
  queueCache.onChange(line);

  for (const cache of caches) cache.start(stop);
  const silence = bus.followProgress((scanId, payload) => {
    const [scan] = scanCache.byIndex('id', scanId);
    if (scan === undefined || hasEnded(scan)) return metrics.heard('unknown');
    const result = podMessages.take(scanId, payload, now());
    metrics.heard(result);
    if (result === 'news') scanQueue.add(keyOf(scan));
  });
  try {
    await Promise.all(caches.map((cache) => cache.synced));
    logger.info({ scans: scanCache.list().length, jobs: jobCache.list().length }, 'knows the cluster');
    const preflight = createPreflight({
      scans,
      credits,
      organisations,
      resolver: parts.resolver,
      apiNamespace,
      maxPagesLimit: settings.maxPagesLimit,
      targets: settings.targets,
      now,
    });
    const ingestion = createIngestion({ reports, bounds: settings.ingest, onPages: metrics.visited });
    const reconcile = createReconcile({
      scanClient,
      gather: createGather({ jobs: jobCache, pods: podCache, children, states, podMessages, busSince, apiNamespace, now }),
      runActions: createActions({
        scanClient,
        children,
        preflight,
        ingestion: instrumentIngestion(ingestion, metrics, clock),
        mirror,
        states,
        scans,
        reports,
        bus,
        recorder,
        scanner: settings.scanner,
        pod: settings.pod,
        runTime: settings.runTime,
        traces: createScanTraces(parts.tracer ?? NO_TRACER),
        onEnd: metrics.ended,
      }),
      podMessages,
      timeouts: { ...TIMEOUTS, ...settings.timeouts },
      apiNamespace,
      logger,
    });
    const keeper = createQueueReconciler({
      connection,
      namespace: apiNamespace,
      queues: queueCache,
      scanClient,
      queueStates,
      recorder,
      defaultMaxRunning: settings.maxRunning,
      everyMs: QUEUE_EVERY_MS,
      now,
      onLook: metrics.queue,
    });
    const sweep = createSweeper({
      connection,
      scanClient,
      scans,
      credits,
      organisations,
      reports,
      mirror,
      lookAgain(scan) {
        states.of(scan.metadata.uid!).mirrored = null;
        scanQueue.add(keyOf(scan));
      },
      apiNamespace,
      retentionDays: settings.retentionDays,
      pendingForMs: PENDING_FOR_MS,
      staleForMs: STALE_FOR_MS,
      logger,
      now,
    });
    line();
    const controllers = [
      startController({ ...common, name: 'scan', queue: scanQueue, workers: WORKERS, reconcile, signal: lost }),
      startController({ ...common, name: 'queue', queue: lineQueue, workers: 1, reconcile: keeper, signal: lost }),
    ];
    await sweepUntil(stop, clock, settings.sweepEveryMs ?? 60_000, async () => {
      try {
        metrics.swept(await sweep());
      } catch (error) {
        metrics.swept(null);
        if (!stop.aborted) logger.warn({ err: error }, 'could not sweep, tries again');
      }
    });
    await Promise.all(controllers.map((controller) => controller.stop()));
  } finally {
    silence();
    await Promise.allSettled(caches.map((cache) => cache.stopped));
    if (!lost.aborted) await recorder.flush();
    metrics.resigned();
  }
}

/** Sweeps at once, and then from time to time until the signal aborts. */
async function sweepUntil(stop: AbortSignal, clock: Clock, everyMs: number, sweepOnce: () => Promise<void>): Promise<void> {
  while (!stop.aborted) {
    await sweepOnce();
    await sleep(clock, everyMs, stop);
  }
}

/** Since when the bus has been connected without a break. */
function followConnection(bus: Bus, clock: Clock, stop: AbortSignal): () => Date | null {
  let since: Date | null = null;
  const look = () => {
    since = bus.connected ? (since ?? new Date(clock.now())) : null;
  };
  const timer = setInterval(look, BUS_EVERY_MS);
  timer.unref();
  stop.addEventListener('abort', () => clearInterval(timer), { once: true });
  return () => {
    look();
    return since;
  };
}
