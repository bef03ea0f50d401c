/** Counts what the front door does, for Prometheus. Labels are bounded: the route's pattern, never a path. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from '@prometheus-io/client';
import { createStoreMetrics, type StoreMetrics } from '../../stores/metrics.ts';
import type { Api } from '../api.ts';

const PREFIX = 'curbcut_';

export interface Metrics extends StoreMetrics {
  registry: Registry;
  /** A dependency failed or did not answer in time. */
  dependencyDown(dependency: string): void;
  /** A request was admitted or denied without the shared limits. */
  limitsFallback(): void;
  /** How a submission ended: `accepted`, `replayed`, or the reason why not. */
  submission(outcome: string): void;
  /** Streams open now: +1 or −1. */
  stream(change: 1 | -1): void;
  requestBegan(): void;
  /** @param labels null where its length says nothing about us */
  requestEnded(labels: RequestLabels | null, seconds: number): void;
}

interface RequestLabels {
  method: string;
  /** The pattern, never the path. */
  route: string;
  status: number;
}

/** Metrics of one app. The process's own (memory, event loop) are added by its `main.ts`, once a process. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const dependencies = new Counter({
    name: `${PREFIX}dependency_failures_total`,
    help: 'Answers of a dependency that failed or came too late.',
    labelNames: ['dependency'],
    registers,
  });
  const fallback = new Counter({
    name: `${PREFIX}limits_fallback_total`,
    help: 'Requests that were limited by this replica alone, because the shared limits were away.',
    registers,
  });
  const submissions = new Counter({
    name: `${PREFIX}submissions_total`,
    help: 'Submissions by how they ended.',
    labelNames: ['outcome'],
    registers,
  });
  const streams = new Gauge({ name: `${PREFIX}event_streams`, help: 'Event streams that are open now.', registers });
  const inFlight = new Gauge({ name: `${PREFIX}http_requests_in_flight`, help: 'Requests that are being answered now.', registers });
  const duration = new Histogram({
    name: `${PREFIX}http_request_duration_seconds`,
    help: 'Time from the arrival of a request to the end of its answer; event streams are not among them.',
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

/** Adds memory, event loop and garbage collection of the process. */
export function addProcessMetrics({ registry }: Metrics): void {
  collectDefaultMetrics({ register: registry, prefix: PREFIX });
}

/** Measures every request but event streams, whose length says nothing about us. */
export function installMetrics(app: Api, metrics: Metrics): void {
  app.addHook('onRequest', async (request, reply) => {
    metrics.requestBegan();
    // Not onResponse: it never comes where the client went away.
    reply.raw.once('close', () => {
      const stream = String(reply.getHeader('content-type')).startsWith('text/event-stream');
      const labels = { method: request.method, route: request.routeOptions.url ?? 'unmatched', status: reply.statusCode };
      metrics.requestEnded(stream ? null : labels, reply.elapsedTime / 1000);
    });
  });
}
