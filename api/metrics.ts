/** The API's Prometheus metrics. To bound the number of series, labels contain route patterns and never paths. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import { createStoreMetrics, type StoreMetrics } from '../stores/store-metrics.ts';

const PREFIX = 'curbcut_';

export interface Metrics extends StoreMetrics {
  registry: Registry;
  /** A dependency failed or did not answer in time. */
  dependencyDown(dependency: string): void;
  /** A request was admitted or denied without the shared limits. */
  limitsFallback(): void;
  /** The outcome of a submission: `accepted`, `replayed`, or the reason of its refusal. */
  submission(outcome: string): void;
  /** An event stream was opened (+1) or closed (−1). */
  stream(change: 1 | -1): void;
  requestBegan(): void;
  /** @param labels null for event streams, which last as long as the client wants */
  requestEnded(labels: RequestLabels | null, seconds: number): void;
}

interface RequestLabels {
  method: string;
  /** The route's pattern. */
  route: string;
  status: number;
}

/** Creates the metrics of one app. `main.ts` adds those of the process, which tests with several apps must not. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const dependencies = new Counter({
    name: `${PREFIX}dependency_failures_total`,
    help: 'Calls to a dependency that failed or exceeded their time limit.',
    labelNames: ['dependency'],
    registers,
  });
  const fallback = new Counter({
    name: `${PREFIX}limits_fallback_total`,
    help: 'Requests that were counted by this replica alone because the shared rate limits were unavailable.',
    registers,
  });
  const submissions = new Counter({
    name: `${PREFIX}submissions_total`,
    help: 'Submissions by outcome.',
    labelNames: ['outcome'],
    registers,
  });
  const streams = new Gauge({ name: `${PREFIX}event_streams`, help: 'Open event streams.', registers });
  const inFlight = new Gauge({ name: `${PREFIX}http_requests_in_flight`, help: 'Requests in progress.', registers });
  const duration = new Histogram({
    name: `${PREFIX}http_request_duration_seconds`,
    help: 'Time from the arrival of a request to the end of its response, without event streams.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  return {
    registry,
    ...createStoreMetrics(registry, PREFIX),
    dependencyDown: (dependency) => dependencies.inc({ dependency }),
    limitsFallback: () => fallback.inc(),
    submission: (outcome) => submissions.inc({ outcome }),
    stream: (change) => streams.inc(change),
    requestBegan: () => inFlight.inc(),
    requestEnded(labels, seconds) {
      inFlight.dec();
      if (labels !== null) duration.observe({ ...labels }, seconds);
    },
  };
}

/** Adds metrics of the process: memory, event loop and garbage collection. */
export function addProcessMetrics({ registry }: Metrics): void {
  collectDefaultMetrics({ register: registry, prefix: PREFIX });
}
