/** Counts what the operator does, for Prometheus. Labels are bounded: reasons and phases, never names or ids. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import { createStoreMetrics, type StoreMetrics } from '../stores/store-metrics.ts';
import type { QueueLoad } from './queue/admission.ts';
import type { RuntimeMetrics } from './runtime/metrics.ts';
import type { PageVisit } from './scan/results/page-visits.ts';
import type { PhaseChange } from './scan/phase-metrics.ts';
import type { SweepResult } from './maintenance/sweeper.ts';

const PREFIX = 'curbcut_';

export interface OperatorMetrics {
  registry: Registry;
  runtime: RuntimeMetrics;
  stores: StoreMetrics;
  /** A scan changed its phase. */
  phaseChanged(change: PhaseChange): void;
  /** A scan ended. `passed` is its verdict, if thresholds were set. */
  ended(phase: string, reason: string, seconds: number, passed: boolean | null): void;
  /** The outcome of each page of a scan whose results were accepted. */
  pagesVisited(visits: readonly PageVisit[]): void;
  /** A pod's message arrived: `news`, `repeat`, `refused`, or `unknown` if no live scan has its id. */
  podMessage(result: string): void;
  queue(load: QueueLoad): void;
  /** A pod's results were verified. */
  ingested(result: 'accepted' | 'refused' | 'error', seconds: number): void;
  swept(result: SweepResult | null): void;
  /** This replica is no longer the leader: the next leader reports the scans. */
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

  const ended = counter('scans_ended_total', 'Scans that ended, by phase and reason.', ['phase', 'reason']);
  const took = histogram(
    'scan_duration_seconds',
    'From the creation of a scan to its end.',
    [5, 10, 30, 60, 120, 300, 900, 3600, 14400],
    ['phase'],
  );
  const verdicts = counter('scan_verdicts_total', 'Verdicts on scans that are done: `passed`, `failed`, or `none` without thresholds.', [
    'verdict',
  ]);
  const stages = gauge('scans', 'Scans that have not ended, by phase; `starting` is admitted and waits for its pod.', ['phase']);
  const stageTook = histogram(
    'scan_phase_duration_seconds',
    'Time that scans spent in a phase, observed when they leave it.',
    [0.5, 1, 2, 5, 10, 30, 60, 120, 300, 900, 3600, 14400],
    ['phase'],
  );
  const pages = counter('pages_total', 'Pages of accepted results: `tested`, or the reason why not.', ['outcome']);
  const pageTook = histogram(
    'page_duration_seconds',
    'Time per page, navigation and rules together; `outcome` is `tested` or `untested`.',
    [0.25, 0.5, 1, 2, 5, 10, 20, 30, 60],
    ['outcome'],
  );
  const podMessages = counter('pod_messages_total', 'Messages of scanner pods on the bus, by result.', ['result']);
  const live = gauge('scans_live', 'Scans that have not ended.');
  const running = gauge('scans_running', 'Scans that were admitted and have not ended.');
  const queued = gauge('scans_queued', 'Scans that wait for admission.');
  const oldest = gauge('queue_oldest_wait_seconds', 'How long the first waiting scan has waited.');
  const paused = gauge('queue_paused', '1 while the queue is paused.');
  const ingested = histogram('ingest_duration_seconds', 'Verification of the results that a pod stored.', short, ['result']);
  const sweeps = counter('sweeps_total', 'Runs of the sweeper, by result.', ['result']);
  const repaired = counter('swept_total', 'What the sweeper repaired or deleted.', ['what']);
  const reconciles = histogram('reconcile_duration_seconds', 'Reconciles by controller and result.', short, ['controller', 'result']);
  const depth = gauge('workqueue_depth', 'Keys that wait for a worker.', ['queue']);
  const waited = histogram('workqueue_wait_seconds', 'Time from when a key was ready until a worker took it.', short, ['queue']);
  const watches = counter('watch_restarts_total', 'Watches that ended, by reason.', ['resource', 'reason']);
  const lists = histogram('list_duration_seconds', 'Complete lists of a resource.', short, ['resource']);
  const leads = gauge('leader', '1 while this replica holds the lease.', ['lease']);

  return {
    registry,
    stores: createStoreMetrics(registry, PREFIX),
    runtime: {
      reconciled: (controller, result, seconds) => reconciles.observe({ controller, result }, seconds),
      queueDepth: (queue, value) => depth.set({ queue }, value),
      queueWaited: (queue, seconds) => waited.observe({ queue }, seconds),
      watchRestarted: (resource, reason) => watches.inc({ resource, reason }),
      listed: (resource, _objects, seconds) => lists.observe({ resource }, seconds),
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
    pagesVisited(visits) {
      for (const { outcome, seconds } of visits) {
        pages.inc({ outcome });
        pageTook.observe({ outcome: outcome === 'tested' ? outcome : 'untested' }, seconds);
      }
    },
    podMessage: (result) => podMessages.inc({ result }),
    queue(load) {
      live.set(load.live);
      running.set(load.running);
      queued.set(load.queued);
      oldest.set(load.oldestWaitSeconds);
      paused.set(load.paused ? 1 : 0);
    },
    ingested: (result, seconds) => ingested.observe({ result }, seconds),
    swept(result) {
      sweeps.inc({ result: result === null ? 'error' : 'done' });
      for (const [what, count] of Object.entries(result ?? {})) if (count > 0) repaired.inc({ what }, count as number);
    },
    stoppedLeading() {
      for (const reported of [stages, live, running, queued, oldest, paused, depth]) reported.reset();
    },
  };
}

/** Adds memory, event loop and garbage collection of the process. */
export function addProcessMetrics({ registry }: OperatorMetrics): void {
  collectDefaultMetrics({ register: registry, prefix: PREFIX });
}
