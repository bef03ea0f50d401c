/** The API's Prometheus metrics. To bound the number of series, labels contain route patterns and never paths. */
import type { Registry } from '@prometheus-io/client';
import type { DependencyName } from '../stores/connections.ts';
import { createMetricFactory, createStoreMetrics, type StoreMetrics } from '../stores/process-metrics.ts';
import { NETWORK_LIMITS, type NetworkPolicy } from './http/networks/network-limits.ts';
import { createOutboxMetrics, type OutboxMetrics } from './outbox/metrics.ts';
import type { PublicScanRefusal } from './public/request-public-scan.ts';
import type { SubmissionRefusal } from './scans/submission/submission.ts';

/** `accepted`, `replayed`, or the reason of a refusal. */
type SubmissionOutcome = 'accepted' | 'replayed' | SubmissionRefusal['reason'];

/** Typed so that the compiler names a value that is missing. */
const SUBMISSION_OUTCOMES: Readonly<Record<SubmissionOutcome, true>> = {
  accepted: true,
  replayed: true,
  target_refused: true,
  test_key_target: true,
  secret_refused: true,
  prepare_refused: true,
  urls_refused: true,
  prepare_disabled: true,
  baseline_refused: true,
  queue_paused: true,
  queue_full: true,
  organisation_full: true,
  dns_unavailable: true,
  resource_rejected: true,
  insufficient_credits: true,
  idempotency_conflict: true,
  idempotency_reused: true,
};

/** `accepted`, `repeated`, or the reason of a refusal. */
type PublicScanResult = 'accepted' | 'repeated' | PublicScanRefusal['reason'];

const PUBLIC_SCAN_RESULTS: Readonly<Record<PublicScanResult, true>> = {
  accepted: true,
  repeated: true,
  public_scans_disabled: true,
  rate_limited: true,
  turnstile_refused: true,
  turnstile_unavailable: true,
  in_progress: true,
  target_refused: true,
  dns_unavailable: true,
  queue_paused: true,
  queue_full: true,
  organisation_full: true,
  resource_rejected: true,
};
const CANCELLATION_OUTCOMES = ['accepted', 'already_ended', 'managed_by_manifest', 'not_submitted', 'resource_rejected'] as const;
/** `accepted`, or why a scan could not be canceled. */
export type CancellationOutcome = (typeof CANCELLATION_OUTCOMES)[number];

/** The dependencies that requests call and wait for. */
const CALLED = ['mongodb', 'kubernetes', 'objects'] as const satisfies readonly DependencyName[];
export type CalledDependency = (typeof CALLED)[number];

export interface Metrics extends StoreMetrics, OutboxMetrics {
  registry: Registry;
  /** A dependency failed or did not answer in time. */
  dependencyDown(dependency: CalledDependency): void;
  /** A request without a valid key or session was denied because of its network. */
  networkLimited(policy: NetworkPolicy): void;
  /** A request was admitted or denied without the shared limits. */
  limitsFallback(): void;
  submission(outcome: SubmissionOutcome): void;
  publicScan(outcome: PublicScanResult): void;
  cancellation(outcome: CancellationOutcome): void;
  /** An event stream was opened (+1) or closed (−1). */
  stream(change: 1 | -1): void;
  /** An event stream was disconnected because its client did not read. */
  slowStream(): void;
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
  const factory = createMetricFactory();
  const { counter, gauge, histogram } = factory;
  const dependencies = counter('dependency_failures_total', 'Calls to a dependency that failed or exceeded their time limit.', {
    dependency: CALLED,
  });
  const fallback = counter(
    'limits_fallback_total',
    'Requests that were counted by this replica alone because the shared rate limits were unavailable.',
  );
  const networks = counter('network_limited_total', 'Requests without a valid key or session that a limit of their network denied.', {
    policy: Object.keys(NETWORK_LIMITS),
  });
  const submissions = counter('submissions_total', 'Submissions by outcome.', { outcome: Object.keys(SUBMISSION_OUTCOMES) });
  const publicScans = counter('public_scan_requests_total', 'Requests for a public scan by outcome.', {
    outcome: Object.keys(PUBLIC_SCAN_RESULTS),
  });
  const cancellations = counter('cancellations_total', 'Requests to cancel a scan, by outcome.', { outcome: CANCELLATION_OUTCOMES });
  const streams = gauge('event_streams', 'Open event streams.');
  const slow = counter(
    'slow_event_streams_total',
    'Event streams that were disconnected because their client took nothing for 15 to 30 s.',
  );
  const inFlight = gauge('http_requests_in_flight', 'Requests in progress.');
  const duration = histogram(
    'http_request_duration_seconds',
    'Time from the arrival of a request to the end of its response, without event streams. Status 499: the client went away before it.',
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    { method: [], route: [], status: [] },
  );
  return {
    registry: factory.registry,
    ...createStoreMetrics(factory),
    ...createOutboxMetrics(factory),
    dependencyDown: (dependency) => dependencies.inc({ dependency }),
    networkLimited: (policy) => networks.inc({ policy }),
    limitsFallback: () => fallback.inc(),
    submission: (outcome) => submissions.inc({ outcome }),
    publicScan: (outcome) => publicScans.inc({ outcome }),
    cancellation: (outcome) => cancellations.inc({ outcome }),
    stream: (change) => streams.inc(change),
    slowStream: () => slow.inc(),
    requestBegan: () => inFlight.inc(),
    requestEnded(labels, seconds) {
      inFlight.dec();
      if (labels !== null) duration.observe({ ...labels }, seconds);
    },
  };
}
