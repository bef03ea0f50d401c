/** Puts the operator together from its dependencies: caches, controllers and the sweeper, alive only while this replica leads. */
import { SCAN_ID_LABEL, scanIdOf, type AccessibilityScan, type ScanQueue } from '../core/protocol/custom-resources.ts';
import type { Logger } from '../platform/logger.ts';
import { NO_TRACER, type Tracer } from '../platform/tracing.ts';
import type { TargetRules } from '../core/scan/targets.ts';
import type { Bus } from '../stores/nats.ts';
import type { KubernetesConnection } from '../platform/kubernetes/kubernetes.ts';
import type { Stores } from '../stores/stores.ts';
import type { Reports } from '../stores/reports.ts';
import { measured } from './scan/results/instrumented.ts';
import type { OperatorMetrics } from './metrics.ts';
import { createQueueKeeper } from './queue/queue.ts';
import { systemClock, sleep, type Clock } from './runtime/clock.ts';
import { startController } from './runtime/controller.ts';
import { createRecorder } from './runtime/recorder.ts';
import { keyOf } from './runtime/key.ts';
import { lead } from './runtime/leader-election.ts';
import { createQueue } from './runtime/workqueue.ts';
import { createActs } from './scan/actions.ts';
import { createChildren } from './scan/launch/children.ts';
import { createMirror } from './scan/mirror.ts';
import { createGather } from './scan/gather.ts';
import { createIngestion, type IngestBounds } from './scan/results/ingest.ts';
import { createIntake } from './scan/launch/preflight.ts';
import type { ScannerSettings } from './scan/launch/job.ts';
import { JOBS, PODS, QUEUES, SCANS, essentialJob, essentialPod, withoutFieldOwners, type Job, type Pod } from './scan/kube-types.ts';
import { createMemories } from './scan/reconcile-state.ts';
import type { RunTime } from './scan/policy/run-time.ts';
import type { Patience } from './scan/policy/plan.ts';
import { createVoices } from './scan/results/pod-message-log.ts';
import { createReconcile } from './scan/reconcile.ts';
import { createScanBook } from './scan/scan-client.ts';
import type { PodSettings } from './scan/launch/secret.ts';
import { createStages } from './scan/phase-metrics.ts';
import { hasEnded } from './scan/policy/status.ts';
import { createSweeper } from './maintenance/sweeper.ts';
import { createScanTraces } from './scan/traces.ts';
import { watch } from './runtime/multi-namespace-cache.ts';

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
  patience: Pick<Patience, 'queueMs' | 'pendingMs' | 'stuckMs'> & Partial<Patience>;
  ingest: IngestBounds;
  retentionDays: number;
  /** How often the sweeper sweeps. Default a minute. */
  sweepEveryMs?: number;
}

export interface OperatorParts {
  connection: KubernetesConnection;
  stores: Pick<Stores, 'scans' | 'credits' | 'organisations' | 'queueStates'>;
  reports: Reports;
  bus: Bus;
  /** All addresses of a host; none if it has none. @throws where that cannot be told now */
  resolve: (hostname: string) => Promise<string[]>;
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

const PATIENCE: Omit<Patience, 'queueMs' | 'pendingMs' | 'stuckMs'> = {
  lostPodMs: 60_000,
  lingerMs: 60_000,
  lateNewsMs: 5_000,
  statusEveryMs: 5_000,
  mirrorEveryMs: 500,
};

/** Runs until the signal aborts: campaigns for the lease, and works while it has it. */
export function runOperator(parts: OperatorParts, signal: AbortSignal): Promise<void> {
  const { connection, settings, metrics, identity, logger, clock = systemClock } = parts;
  const leaseDurationMs = settings.leaseSeconds * 1000;
  return lead({
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
async function work(parts: OperatorParts, clock: Clock, stop: AbortSignal, lost: AbortSignal): Promise<void> {
  const { connection, stores, reports, bus, settings, metrics, logger } = parts;
  const { scans, credits, organisations, queueStates } = stores;
  const apiNamespace = settings.namespace;
  const now = () => new Date(clock.now());
  const common = { connection, logger, clock, metrics: metrics.runtime };
  const owners = (object: Job | Pod) =>
    object.metadata.ownerReferences?.filter((owner) => owner.controller).map((owner) => owner.uid) ?? [];

  const scanCache = watch<AccessibilityScan>(
    { ...common, resource: SCANS, keep: withoutFieldOwners, indexes: { id: (scan) => [scanIdOf(scan, apiNamespace)] } },
    settings.watchNamespaces,
  );
  const jobCache = watch<Job>({ ...common, resource: JOBS, keep: essentialJob, labelSelector: SCAN_ID_LABEL }, settings.watchNamespaces);
  const podCache = watch<Pod>(
    { ...common, resource: PODS, keep: essentialPod, labelSelector: SCAN_ID_LABEL, indexes: { owner: owners } },
    settings.watchNamespaces,
  );
  const queueCache = watch<ScanQueue>({ ...common, resource: QUEUES }, [apiNamespace]);
  const caches = [scanCache, jobCache, podCache, queueCache];

  const scanQueue = createQueue({ clock, name: 'scans', metrics: metrics.runtime });
  const lineQueue = createQueue({ clock, name: 'queue', metrics: metrics.runtime, maxDelayMs: 5_000 });
  const recorder = createRecorder({ connection, component: 'curbcut-operator', instance: parts.identity, logger, clock });
  const voices = createVoices();
  const memories = createMemories();
  const stages = createStages({ now, onMove: metrics.moved });
  const book = createScanBook(connection, scanCache);
  const children = createChildren(connection);
  const mirror = createMirror({ scans, credits, bus });
  const line = () => lineQueue.add('queue');
  const busSince = followConnection(bus, clock, stop);

  scanCache.onChange(({ type, object }) => {
    book.seen(object, type === 'deleted');
    if (type !== 'deleted') stages.seen(object);
    else {
      stages.gone(object);
      memories.forget(object.metadata.uid!);
      voices.forget(scanIdOf(object, apiNamespace));
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
    const result = voices.take(scanId, payload, now());
    metrics.heard(result);
    if (result === 'news') scanQueue.add(keyOf(scan));
  });
  try {
    await Promise.all(caches.map((cache) => cache.synced));
    logger.info({ scans: scanCache.list().length, jobs: jobCache.list().length }, 'knows the cluster');
    const intake = createIntake({
      scans,
      credits,
      organisations,
      resolve: parts.resolve,
      apiNamespace,
      maxPagesLimit: settings.maxPagesLimit,
      targets: settings.targets,
      now,
    });
    const ingestion = createIngestion({ reports, bounds: settings.ingest, onPages: metrics.visited });
    const reconcile = createReconcile({
      book,
      gather: createGather({ jobs: jobCache, pods: podCache, children, memories, voices, busSince, apiNamespace, now }),
      acts: createActs({
        book,
        children,
        intake,
        ingestion: measured(ingestion, metrics, clock),
        mirror,
        memories,
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
      voices,
      patience: { ...PATIENCE, ...settings.patience },
      apiNamespace,
      logger,
    });
    const keeper = createQueueKeeper({
      connection,
      namespace: apiNamespace,
      queues: queueCache,
      book,
      queueStates,
      recorder,
      defaultMaxRunning: settings.maxRunning,
      everyMs: QUEUE_EVERY_MS,
      now,
      onLook: metrics.queue,
    });
    const sweep = createSweeper({
      connection,
      book,
      scans,
      credits,
      organisations,
      reports,
      mirror,
      lookAgain(scan) {
        memories.of(scan.metadata.uid!).mirrored = null;
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
