/** Types of a submission: request, outcome and dependencies. */
import type { ScanOptions } from '../../core/scan/options.ts';
import type { Resolver, TargetRules } from '../../core/scan/targets.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Tracer } from '../../platform/tracing.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import type { StoredAnswer } from '../../stores/submissions/idempotency.ts';
import type { Origin } from '../../stores/submissions/scan-resources.ts';
import type { ApiStores } from '../dependencies.ts';
import type { SubmissionRefusal } from './refusals.ts';

/** How long one request owns its idempotency key. After that, a repeated request takes over the same scan. */
export const LEASE_SECONDS = 60;

export interface SubmissionRequest {
  organisation: string;
  /** With all defaults. `url` is not checked against the target rules yet. */
  options: ScanOptions;
  /** Accept fewer pages if there are not enough credits. */
  partial: boolean;
  /** Null if the request has no Idempotency-Key. */
  idempotency: { key: string; fingerprint: string } | null;
  /** Written to the resource's annotations. */
  origin?: Origin;
}

export type SubmissionOutcome =
  /** `replayed`: this is the stored response to the first request with this key, and nothing was charged. */
  { ok: true; answer: StoredAnswer; replayed: boolean } | SubmissionRefusal;

export interface Submissions {
  /** @throws DependencyDown if a dependency is down. Nothing is charged then, and nothing will be charged later. */
  submit(request: SubmissionRequest, logger: Logger): Promise<SubmissionOutcome>;
}

export interface SubmissionDeps {
  stores: Pick<ApiStores, 'credits' | 'scans' | 'idempotency' | 'queueStates' | 'scanResources'>;
  resolver: Resolver;
  clock: () => Date;
  tracer: Tracer;
  newId: () => string;
  namespace: string;
  targets: TargetRules;
  maxLiveScans: number;
  /** Builds the response for an accepted row. It is stored for repeated requests. */
  answerFor: (row: ScanRow) => StoredAnswer;
}
