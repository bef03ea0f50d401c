/** Types of a submission: request, outcome and dependencies. */
import type { BuiltInQueue } from '../../../core/protocol/custom-resources.ts';
import type { Metadata } from '../../../core/scan/metadata.ts';
import type { BaselineChoice } from '../../../core/scan/baseline.ts';
import type { ScanOptions } from '../../../core/scan/options.ts';
import type { SubmittedAuth } from '../../../core/scan/scan-secrets.ts';
import type { Resolver, TargetRules } from '../../../core/scan/targets.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { Tracer } from '../../../platform/tracing.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import type { Origin } from '../../../stores/submissions/scan-resources.ts';
import type { ApiStores } from '../../dependencies.ts';
import type { QueueGate } from './queue-gate.ts';
import type { SubmissionRefusal } from './refusals.ts';

/**
 * How long one request owns its idempotency key. After that, a repeated request takes over the same scan. Short, because a
 * caller waits for it after a crash. A request that is slower shares its scan with the repeated one, and both end alike.
 */
export const LEASE_SECONDS = 15;

/** The response to an accepted submission. */
export interface AcceptedAnswer {
  headers: Record<string, string>;
  body: unknown;
}

export interface SubmissionRequest {
  organisation: string;
  /** As the audit log names actors. Default: a visitor. */
  submittedBy?: string;
  /** Default: a new ID. Not used with an Idempotency-Key. */
  scanId?: string;
  /** Default: the default queue. */
  queue?: BuiltInQueue;
  /** A test key submits it: only a test target is scanned, and nothing is charged. Default: false. */
  test?: boolean;
  /** The sign-in. Default: none. */
  auth?: SubmittedAuth;
  /** With all defaults. `url` is not checked against the target rules yet. */
  options: ScanOptions;
  /** Default: none. */
  metadata?: Metadata;
  /** The scan to compare with. Default: none. */
  baseline?: BaselineChoice;
  /** Accept fewer pages if there are not enough credits. */
  partial: boolean;
  /** Null if the request has no Idempotency-Key. */
  idempotency: { key: string; fingerprint: string } | null;
  /** Written to the resource's annotations. */
  origin?: Origin;
}

export type SubmissionOutcome =
  /** `replayed`: this is the response to an earlier request with this key, and nothing was charged. `row` is that of its scan. */
  { ok: true; answer: AcceptedAnswer; replayed: boolean; row: ScanRow } | SubmissionRefusal;

export interface Submissions {
  /** @throws DependencyDown if a dependency is down, and nothing is charged; SubmissionUnconfirmed if it is down and the outcome is unknown */
  submit(request: SubmissionRequest, logger: Logger): Promise<SubmissionOutcome>;
  /** Checks what could be submitted, without regard to the queue and to credits. @returns why it is refused, or null */
  check(request: SubmissionRequest): Promise<SubmissionRefusal | null>;
}

export interface SubmissionDeps {
  stores: Pick<ApiStores, 'credits' | 'scans' | 'idempotency' | 'scanResources'>;
  resolver: Resolver;
  now: () => Date;
  tracer: Tracer;
  newId: () => string;
  namespace: string;
  targets: TargetRules;
  /** Hosts that test keys may scan besides loopback. */
  testTargets: readonly string[];
  allowPrepareSteps: boolean;
  /** The Secrets that scans may sign in with (`maySignInWith`). */
  allowScanSecrets: readonly string[];
  queueGate: QueueGate;
  maxLiveScansPerOrganisation: number;
  /** Builds the response for an accepted row, also for repeated requests: it may use only fields that do not change. */
  answerFor: (row: ScanRow) => AcceptedAnswer;
}
