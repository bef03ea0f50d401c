/** Creates the Prometheus metrics of a process, with a series for each label value that is known in advance. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import { SOCKET_USES, type SocketUse } from '../platform/kubernetes/kubernetes.ts';
import { WEBHOOK_EVENTS, type WebhookEvent } from '../core/webhooks/webhooks.ts';
import type { CreditMove } from './credits/credits.ts';

/** The labels of a metric, each with its values, or with none if they are not known in advance. */
export type Labels = Readonly<Record<string, readonly string[]>>;

/** Names get the prefix of the product. */
export interface MetricFactory {
  registry: Registry;
  counter(name: string, help: string, labels?: Labels): Counter<string>;
  /** @param collect sets the values; called at each scrape */
  gauge(name: string, help: string, labels?: Labels, collect?: (gauge: Gauge<string>) => void): Gauge<string>;
  histogram(name: string, help: string, buckets: number[], labels?: Labels): Histogram<string>;
}

const PREFIX = 'curbcut_';

export function createMetricFactory(): MetricFactory {
  const registry = new Registry();
  const optionsOf = (name: string, help: string, labels: Labels) => ({
    name: `${PREFIX}${name}`,
    help,
    labelNames: Object.keys(labels),
    registers: [registry],
  });
  return {
    registry,
    counter(name, help, labels = {}) {
      const counter = new Counter(optionsOf(name, help, labels));
      for (const series of seriesOf(labels)) counter.inc(series, 0);
      return counter;
    },
    gauge(name, help, labels = {}, collect) {
      const gauge: Gauge<string> = new Gauge({ ...optionsOf(name, help, labels), ...(collect && { collect: () => collect(gauge) }) });
      for (const series of seriesOf(labels)) gauge.set(series, 0);
      return gauge;
    },
    histogram(name, help, buckets, labels = {}) {
      const histogram = new Histogram({ ...optionsOf(name, help, labels), buckets });
      for (const series of seriesOf(labels)) histogram.zero(series);
      return histogram;
    },
  };
}

/**
 * Returns each combination of values; none if the values of a label are not known. A series that appears with its first event
 * has no increase: rules such as `increase(…) > 0` would miss that event.
 */
function seriesOf(labels: Labels): Record<string, string>[] {
  let all: Record<string, string>[] = [{}];
  for (const [name, values] of Object.entries(labels)) all = all.flatMap((series) => values.map((value) => ({ ...series, [name]: value })));
  return all;
}

/** Adds the metrics of the process: memory, event loop and garbage collection. Once per process, unlike those of an app. */
export function addProcessMetrics({ registry }: { registry: Registry }): void {
  collectDefaultMetrics({ register: registry, prefix: PREFIX });
}

/** Metrics that the API and the operator share, under the same names, so that sums over both processes are correct. */
export function createStoreMetrics({ counter, gauge }: MetricFactory) {
  const credits = counter(
    'credits_total',
    'Credits that this process moved: `reserved` for scans, then `spent` on tested pages or `released`.',
    { operation: ['reserved', 'spent', 'released'] },
  );
  const up = gauge('dependency_up', '1 if the dependency answered its last check (every 5 s), else 0.', { dependency: [] });
  const sockets = gauge(
    'kubernetes_sockets',
    'Open sockets to the Kubernetes API, by use: `requests` (at most 64), `lists` (at most 16), `watches` (one for each, or over HTTP/2 one for about 100), `heartbeats` (lease and readiness probe).',
    { use: SOCKET_USES },
  );
  const events = counter('webhook_events_total', 'Events that were queued for the webhooks of their organisation.', {
    event: WEBHOOK_EVENTS,
  });
  return {
    /** An event was put into the queue of an endpoint. */
    webhookEvent: (event: WebhookEvent) => events.inc({ event }),
    /** Credits moved. Each move is counted once, by the process whose call made it. */
    credits(move: CreditMove) {
      if (move.operation === 'reserve') return credits.inc({ operation: 'reserved' }, move.pages);
      credits.inc({ operation: 'spent' }, move.pages);
      credits.inc({ operation: 'released' }, move.released);
    },
    /** The number of sockets to the Kubernetes API that are open. */
    sockets: (use: SocketUse, open: number) => sockets.set({ use }, open),
    /** The result of a dependency's last check. */
    dependency: (dependency: string, isUp: boolean) => up.set({ dependency }, isUp ? 1 : 0),
  };
}
export type StoreMetrics = ReturnType<typeof createStoreMetrics>;
