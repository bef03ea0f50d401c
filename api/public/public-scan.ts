/** Types of a request for a public scan: what the REST route and the form of the public pages share. */
import type { Locale } from '../../core/scan/locales.ts';
import type { Logger } from '../../platform/logger.ts';
import type { RateLimitDecision, RateLimitState } from '../../stores/rate-limits.ts';
import type { SubmissionRefusal } from '../scans/submission/refusals.ts';

export interface PublicScanRequest {
  /** An absolute URL. It is not checked against the target rules yet. */
  url: string;
  /** Whether the scan may start at http:// if https:// does not answer. Default: no. */
  httpFallback?: boolean;
  /** An e-mail address, in valid syntax. */
  email: string;
  locale: Locale;
  /** Empty if the visitor's browser sent none. */
  turnstileToken: string;
  /** The client's address, as `request.ip` states it. */
  address: string;
  requestId: string;
  /** W3C Trace Context. */
  traceparent?: string;
  /** Of a request with an Idempotency-Key: the ID of its scan, and whether an earlier request may have submitted it. */
  idempotent?: { resourceId: string; takenOver: boolean } | null;
}

export type PublicScanRefusal =
  /** The installation offers no public scans. */
  | { ok: false; reason: 'public_scans_disabled' }
  | Extract<RateLimitDecision, { ok: false }>
  /** Cloudflare Turnstile takes the visitor for a program, or the token is missing, used or too old. */
  | { ok: false; reason: 'turnstile_refused' }
  | { ok: false; reason: 'turnstile_unavailable' }
  /** A request for the same URL and e-mail address is being submitted and takes unusually long. */
  | { ok: false; reason: 'in_progress' }
  | Extract<
      SubmissionRefusal,
      { reason: 'target_refused' | 'dns_unavailable' | 'queue_paused' | 'queue_full' | 'organisation_full' | 'resource_rejected' }
    >;

export type PublicScanOutcome =
  /** `repeated`: the token is that of a scan of the same URL for the same e-mail address and network, which is under way. */
  { ok: true; token: string; estimatedSeconds: number; repeated: boolean; limits: RateLimitState[] } | PublicScanRefusal;

/**
 * Submits a public scan.
 * @throws DependencyDown if a dependency is down; no limit is consumed then
 */
export type RequestPublicScan = (request: PublicScanRequest, logger: Logger) => Promise<PublicScanOutcome>;
