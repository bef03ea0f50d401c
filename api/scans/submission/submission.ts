/** Types of a submission: request, outcome and dependencies. */
import type { BuiltInQueue } from '../../../core/protocol/custom-resources.ts';
import type { Metadata } from '../../../core/scan/metadata.ts';
import type { BaselineChoice } from '../../../core/scan/baseline.ts';
import type { ScanOptions } from '../../../core/scan/options.ts';
import type { SubmittedAuth } from '../../../core/scan/sign-in.ts';
import type { Resolver, ScanUrlRefusal, TargetRules } from '../../../core/scan/targets.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { Tracer } from '../../../platform/tracing.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import type { Origin } from '../../../stores/submissions/scan-resources.ts';
import type { ApiStores } from '../../dependencies.ts';
import type { ListMistake } from '../../../core/scan/address-list.ts';
import type { StepMistake } from '../../../core/scan/steps.ts';
import { ApiError, type QueueLimit, ValidationFailure, type ValidationType } from '../../http/errors.ts';

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
  /** Returns why the queue takes no submission now, or null. */
  queueGate: () => Promise<'queue_paused' | 'queue_full' | null>;
  maxLiveScansPerOrganisation: number;
  /** Builds the response for an accepted row, also for repeated requests: it may use only fields that do not change. */
  answerFor: (row: ScanRow) => AcceptedAnswer;
}

/** Why a submission is rejected, and the error response for each reason. */
type RefusalOfTarget = Exclude<ScanUrlRefusal, 'dns_unavailable'>;

/** @property host the index of the further host that is refused; absent if the URL is */
interface RefusedTarget {
  reason: RefusalOfTarget;
  message: string;
  host?: number;
}

export type SubmissionRefusal =
  | { ok: false; reason: 'target_refused'; target: RefusedTarget }
  /** A test key asks for a scan of another target. */
  | { ok: false; reason: 'test_key_target'; host?: number }
  /** A step that prepares the scan leaves its site. */
  | { ok: false; reason: 'prepare_refused'; mistake: StepMistake }
  /** The list of addresses is wrong. */
  | { ok: false; reason: 'urls_refused'; mistake: ListMistake }
  /** The baseline is wrong, or missing. */
  | { ok: false; reason: 'baseline_refused'; type: 'baseline.invalid' | 'baseline.not_found'; message: string }
  /** The organisation's scans may not sign in with the Secret. */
  | { ok: false; reason: 'secret_refused' }
  /** The installation runs no steps that prepare a scan. */
  | { ok: false; reason: 'prepare_disabled' }
  /** The name servers did not answer for the target's host. */
  | { ok: false; reason: 'dns_unavailable' }
  | { ok: false; reason: 'queue_paused' }
  /** The installation has too many live scans. */
  | { ok: false; reason: 'queue_full' }
  /** The organisation has too many live scans. */
  | { ok: false; reason: 'organisation_full' }
  | { ok: false; reason: 'insufficient_credits'; balance: number }
  /** The Kubernetes API rejects the scan's resource. The caller can do nothing about it. */
  | { ok: false; reason: 'resource_rejected' }
  | { ok: false; reason: 'idempotency_conflict'; retryAfterSeconds: number }
  | { ok: false; reason: 'idempotency_reused' };

const TARGET_TYPES: Readonly<Record<RefusalOfTarget, ValidationType>> = {
  not_a_url: 'string.uri',
  too_long: 'string.max_length',
  scheme: 'url.scheme',
  credentials: 'url.credentials',
  port: 'url.port',
  private_address: 'url.private_address',
  unresolvable: 'url.unresolvable',
};

const QUEUE_FULL: Readonly<Record<QueueLimit, string>> = {
  public: 'Too many public scans are in progress; retry after the number of seconds in Retry-After.',
  installation:
    'Too many scans of all organisations are in progress and nothing was charged; retry after the number of seconds in Retry-After.',
};

const DNS_UNAVAILABLE =
  'The name servers did not answer for the host of the URL and nothing was charged; retry after the number of seconds in Retry-After.';

const TEST_KEY_TARGET =
  'A test key scans only the demo site and loopback addresses, if this installation allows them; use a key that is no test key.';

const SECRET_REFUSED =
  'Scans of your organisation cannot sign in with this Secret; leave out auth, or ask the operator of this service to list the Secret in ALLOW_SCAN_SECRETS.';

const PREPARE_DISABLED =
  'This service does not run steps that prepare a scan; leave out prepare, or ask its operator to set ALLOW_PREPARE_STEPS.';

/** Converts a refusal to an error. @param pagesRequested for the body of `insufficient_credits` */
export function errorOf(refusal: SubmissionRefusal, pagesRequested: number): ApiError | ValidationFailure {
  switch (refusal.reason) {
    case 'target_refused':
      return targetError(refusal.target);
    case 'test_key_target':
      return new ValidationFailure([{ loc: locOf(refusal), msg: TEST_KEY_TARGET, type: 'test_key_target' }]);
    case 'prepare_refused': {
      const { index, message } = refusal.mistake;
      return new ValidationFailure([
        { loc: ['body', 'prepare', index, 'goto'], msg: `Step ${index + 1}: ${message}`, type: 'prepare.other_site' },
      ]);
    }
    case 'urls_refused': {
      const { type, index, message } = refusal.mistake;
      return new ValidationFailure([{ loc: ['body', 'urls', ...(index === undefined ? [] : [index])], msg: message, type }]);
    }
    case 'baseline_refused':
      return new ValidationFailure([{ loc: ['body', 'baseline'], msg: refusal.message, type: refusal.type }]);
    case 'secret_refused':
      return new ValidationFailure([{ loc: ['body', 'auth', 'secret'], msg: SECRET_REFUSED, type: 'auth.secret_refused' }]);
    case 'prepare_disabled':
      return new ValidationFailure([{ loc: ['body', 'prepare'], msg: PREPARE_DISABLED, type: 'prepare.disabled' }]);
    case 'idempotency_reused':
      return new ValidationFailure([
        {
          loc: ['header', 'idempotency-key'],
          msg: 'This Idempotency-Key was used for a different request; use a new key for a new request.',
          type: 'idempotency_key.reused',
        },
      ]);
    case 'insufficient_credits':
      return new ApiError('insufficient_credits', { fields: { balance: refusal.balance, pages_requested: pagesRequested } });
    case 'dns_unavailable':
      return dnsUnavailable();
    case 'idempotency_conflict':
      return new ApiError('idempotency_conflict', { retryAfterSeconds: refusal.retryAfterSeconds });
    case 'resource_rejected':
      return new ApiError('internal_error');
    case 'queue_paused':
      return new ApiError('queue_paused');
    case 'queue_full':
      return queueFull('installation');
    case 'organisation_full':
      return new ApiError('live_scans_exceeded');
  }
}

/** The error of a URL that the target rules refuse. */
export const targetError = (target: RefusedTarget): ValidationFailure =>
  new ValidationFailure([{ loc: locOf(target), msg: target.message, type: TARGET_TYPES[target.reason] }]);

const locOf = ({ host }: { host?: number }): (string | number)[] => ['body', ...(host === undefined ? ['url'] : ['hosts', host])];

/** The error if the name servers do not answer for the host of the URL. */
export const dnsUnavailable = (): ApiError => new ApiError('service_unavailable', { fields: { message: DNS_UNAVAILABLE } });

/** The error of a full queue. @param limit whose share of the live scans is used up */
export function queueFull(limit: QueueLimit): ApiError {
  return new ApiError('queue_full', { fields: { message: QUEUE_FULL[limit], limit } });
}
