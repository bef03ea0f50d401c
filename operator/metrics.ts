/** The operator's Prometheus metrics. Labels are bounded: reasons and phases, never IDs; of queues only the first names. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import { PAGE_FAILURES } from '../report/schema/schema.ts';
import { LIVE_PHASES, TERMINAL_PHASES } from '../core/scan/phases.ts';
import { createStoreMetrics, type StoreMetrics } from '../stores/store-metrics.ts';
import { createMailMetrics, type MailMetrics } from './mail/metrics.ts';
import { createQueueGauges, type QueueGauges } from './queue/metrics.ts';
import { DROP_REASONS } from './runtime/events/event-sender.ts';
import type { RuntimeMetrics, WatchRestart } from './runtime/metrics.ts';
import type { PageVisit } from './scan/results/page-visits.ts';
import type { PhaseChange, Stage } from './scan/phase-metrics.ts';
import { END_REASONS } from './scan/policy/condition-reasons.ts';
import type { SweepResult } from './maintenance/sweeper.ts';
import { createScheduleMetrics, type ScheduleMetrics } from './schedule/metrics.ts';

const PREFIX = 'curbcut_';

const STAGES: readonly Stage[] = ['starting', ...LIVE_PHASES];
const VERDICTS = ['passed', 'failed', 'none'] as const;
const POD_MESSAGE_RESULTS = ['news', 'repeat', 'refused', 'unknown'] as const;
const INGEST_RESULTS = ['accepted', 'refused', 'error'] as const;
/** Typed so that the compiler names a value that is missing. */
const WATCH_RESTARTS: Readonly<Record<WatchRestart, true>> = { closed: true, expired: true, idle: true, error: true };
const REPAIRS: Readonly<Record<keyof SweepResult, true>> = {
  accepted: true,
  abandoned: true,
  settled: true,
  relayed: true,
  orphaned: true,
  expired: true,
  forgotten: true,
  tokens: true,
  removed: true,
  uploads: true,
  failed: true,
  unreadable: true,
};

export interface OperatorMetrics {
  registry: Registry;
  runtime: RuntimeMetrics;
  stores: StoreMetrics;
  schedules: ScheduleMetrics;
  mail: MailMetrics;
  phaseChanged(change: PhaseChange): void;
  /** `passed` is the verdict; null if no thresholds were set. */
  ended(phase: string, reason: string, seconds: number, passed: boolean | null): void;
  /** A scan went back into its queue, because it could not be launched. */
  requeued(): void;
  /** A completed scan was not charged, because its credits were not held. */
  uncharged(): void;
  /** Called with the pages of each accepted result. */
  pagesVisited(visits: readonly PageVisit[]): void;
  /** `unknown`: no live scan has the ID. */
  podMessage(result: (typeof POD_MESSAGE_RESULTS)[number]): void;
  /** The number of live scans of the installation. */
  live(scans: number): void;
  queue: QueueGauges['set'];
  /** The queue does not exist any more, and no scan names it. */
  queueGone(queue: string): void;
  organisationsReadable(readable: boolean): void;
  ingested(result: (typeof INGEST_RESULTS)[number], seconds: number): void;
  swept(result: SweepResult | null): void;
  /** Resets the gauges, because the next leader reports them. */
  stoppedLeading(): void;
}

export function createOperatorMetrics(): OperatorMetrics {
  const registry = new Registry();
  const registers = [registry];
  const counter = (name: string, help: string, labelNames: string[] = []) =>
    new Counter({ name: `${PREFIX}${name}`, help, labelNames, registers });
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name: `${PREFIX}${name}`, help, labelNames, registers });
  const histogram = (name: string, help: string, buckets: number[], labelNames: string[] = []) =>
    new Histogram({ name: `${PREFIX}${name}`, help, buckets, labelNames, registers });
  const short = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30];

  const ended = counter('scans_ended_total', 'Number of ended scans, by phase and reason.', ['phase', 'reason']);
  const took = histogram(
    'scan_duration_seconds',
    'Time from the creation of a scan to its end.',
    [5, 10, 30, 60, 120, 300, 900, 3600, 14400],
    ['phase'],
  );
  const verdicts = counter('scan_verdicts_total', 'Verdicts of completed scans: `passed`, `failed`, or `none` without thresholds.', [
    'verdict',
  ]);
  const uncharged = counter(
    'scans_uncharged_total',
    'Number of completed scans that were not charged, because their credits were not held.',
  );
  const requeued = counter(
    'scans_requeued_total',
    'How often an admitted scan went back into its queue, because it could not be launched.',
  );
  const stages = gauge('scans', 'Number of scans that have not ended, by phase; `starting` scans are admitted and wait for their pod.', [
    'phase',
  ]);
  const stageTook = histogram(
    'scan_phase_duration_seconds',
    'Time that scans spend in a phase, observed when they leave it.',
    [0.5, 1, 2, 5, 10, 30, 60, 120, 300, 900, 3600, 14400],
    ['phase'],
  );
  const pages = counter('pages_total', 'Pages of accepted results, by outcome: `tested`, or the reason why the page was not tested.', [
    'outcome',
  ]);
  const pageTook = histogram(
    'page_duration_seconds',
    'Time per page, including navigation and rules; `outcome` is `tested` or `untested`.',
    [0.25, 0.5, 1, 2, 5, 10, 20, 30, 60],
    ['outcome'],
  );
  const podMessages = counter('pod_messages_total', 'Messages from scanner pods on the message bus, by result.', ['result']);
  const live = gauge(
    'scans_live',
    'Number of scans that have not ended, without public scans and waiting manifests, as MAX_LIVE_SCANS limits them.',
  );
  const ofQueue = (name: string, help: string) =>
    gauge(name, `${help} \`(other)\`: the queues beyond the first 50, and missing ones.`, ['queue']);
  const queues = createQueueGauges({
    running: ofQueue('scans_running', 'Number of admitted scans that have not ended, by ScanQueue.'),
    queued: ofQueue('scans_queued', 'Number of scans that wait for admission, by ScanQueue.'),
    oldest: ofQueue('queue_oldest_wait_seconds', 'Waiting time of the scan that has waited longest, by ScanQueue.'),
    paused: ofQueue('queue_paused', '1 if the ScanQueue is paused, else 0.'),
    missing: gauge('scans_without_queue', 'Number of scans that wait because their ScanQueue does not exist.'),
  });
  const ingested = histogram('ingest_duration_seconds', 'Time to verify the results of a pod.', short, ['result']);
  const sweeps = counter('sweeps_total', 'Number of sweeper runs, by result.', ['result']);
  const repaired = counter('swept_total', 'Repairs and deletions by the sweeper.', ['what']);
  const reconciles = histogram('reconcile_duration_seconds', 'Time per reconcile, by controller and result.', short, [
    'controller',
    'result',
  ]);
  const depth = gauge('workqueue_depth', 'Number of keys that wait for a worker.', ['queue']);
  const waited = histogram('workqueue_wait_seconds', 'Time that a key waits until a worker takes it.', short, ['queue']);
  const watches = counter('watch_restarts_total', 'Number of ended watches, by reason.', ['resource', 'reason']);
  const lists = histogram('list_duration_seconds', 'Time to list a resource completely.', short, ['resource']);
  const readable = gauge(
    'namespace_readable',
    '1 if the operator can list the scans, Jobs and pods of a watched namespace (`*`: of all namespaces), else 0. Only the leader reports it.',
    ['watched_namespace'],
  );
  const organisations = gauge(
    'organisations_readable',
    '1 if the operator can list Organisation resources, else 0. Only the leader reports it.',
  );
  const dropped = counter('events_dropped_total', 'Number of Kubernetes Events that were not recorded, by reason.', ['reason']);
  const leads = gauge('leader', '1 if this replica holds the lease, else 0.', ['lease']);

  // A series that appears with its first event has no increase: rules such as `increase(…) > 0` would miss that event.
  const zeroStages = (): void => {
    for (const phase of STAGES) stages.set({ phase }, 0);
  };
  zeroStages();
  for (const phase of STAGES) stageTook.zero({ phase });
  for (const phase of TERMINAL_PHASES) {
    took.zero({ phase });
    for (const reason of END_REASONS[phase]) ended.inc({ phase, reason }, 0);
  }
  for (const verdict of VERDICTS) verdicts.inc({ verdict }, 0);
  for (const outcome of ['tested', ...PAGE_FAILURES]) pages.inc({ outcome }, 0);
  for (const outcome of ['tested', 'untested']) pageTook.zero({ outcome });
  for (const result of POD_MESSAGE_RESULTS) podMessages.inc({ result }, 0);
  for (const result of INGEST_RESULTS) ingested.zero({ result });
  for (const reason of DROP_REASONS) dropped.inc({ reason }, 0);
  for (const result of ['done', 'error']) sweeps.inc({ result }, 0);
  for (const what of Object.keys(REPAIRS)) repaired.inc({ what }, 0);

  const mail = createMailMetrics(registry, PREFIX);

  return {
    registry,
    mail,
    stores: createStoreMetrics(registry, PREFIX),
    schedules: createScheduleMetrics(registry, PREFIX),
    runtime: {
      reconciled: (controller, result, seconds) => reconciles.observe({ controller, result }, seconds),
      queueDepth: (queue, value) => depth.set({ queue }, value),
      queueWaited: (queue, seconds) => waited.observe({ queue }, seconds),
      watchRestarted: (resource, reason) => watches.inc({ resource, reason }),
      listed(resource, _objects, seconds) {
        lists.observe({ resource }, seconds);
        // A resource is listed before it is watched.
        for (const reason of Object.keys(WATCH_RESTARTS)) watches.inc({ resource, reason }, 0);
      },
      namespaceReadable: (namespace, value) => readable.set({ watched_namespace: namespace || '*' }, value ? 1 : 0),
      eventDropped: (reason) => dropped.inc({ reason }),
      leading: (lease, value) => leads.set({ lease }, value ? 1 : 0),
    },
    phaseChanged({ from, to, seconds }) {
      if (from !== null) stages.dec({ phase: from });
      if (to !== null) stages.inc({ phase: to });
      if (from !== null && seconds !== null) stageTook.observe({ phase: from }, seconds);
    },
    ended(phase, reason, seconds, passed) {
      ended.inc({ phase, reason });
      took.observe({ phase }, seconds);
      if (phase === 'done') verdicts.inc({ verdict: passed === null ? 'none' : passed ? 'passed' : 'failed' });
    },
    requeued: () => requeued.inc(),
    uncharged: () => uncharged.inc(),
    pagesVisited(visits) {
      for (const { outcome, seconds } of visits) {
        pages.inc({ outcome });
        pageTook.observe({ outcome: outcome === 'tested' ? outcome : 'untested' }, seconds);
      }
    },
    podMessage: (result) => podMessages.inc({ result }),
    live: (scans) => live.set(scans),
    queue: queues.set,
    queueGone: queues.remove,
    organisationsReadable: (value) => organisations.set(value ? 1 : 0),
    ingested: (result, seconds) => ingested.observe({ result }, seconds),
    swept(result) {
      sweeps.inc({ result: result === null || result.failed > 0 ? 'error' : 'done' });
      for (const [what, count] of Object.entries(result ?? {})) if (count > 0) repaired.inc({ what }, count as number);
    },
    stoppedLeading() {
      for (const reported of [stages, live, depth, readable, organisations]) reported.reset();
      zeroStages();
      queues.reset();
      mail.stoppedLeading();
    },
  };
}

/** Adds the default Node.js metrics: memory, event loop and garbage collection. */
export function addProcessMetrics({ registry }: OperatorMetrics): void {
  collectDefaultMetrics({ register: registry, prefix: PREFIX });
}
