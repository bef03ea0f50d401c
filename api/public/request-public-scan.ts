/**
 * Submits public scans: limits, Turnstile, and then the submission that every scan goes through, under the anonymous
 * organisation. A refused request consumes nothing of the limits on scans, and nothing about it stays stored.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ANONYMOUS } from '../../core/organisation.ts';
import { PUBLIC_QUEUE } from '../../core/protocol/custom-resources.ts';
import { withDefaults } from '../../core/scan/options.ts';
import { isTerminal } from '../../core/scan/phases.ts';
import { bestEffort, type Logger } from '../../platform/logger.ts';
import { newToken } from '../../stores/accounts/one-time-links.ts';
import type { PublicScan } from '../../stores/scans/public-scans.ts';
import type { CountedRequest, RateLimitDecision, RateLimitState } from '../../stores/rate-limits.ts';
import type { ApiStores } from '../dependencies.ts';
import type { FastifyInstance } from 'fastify';
import type { SubmissionRefusal, Submissions } from '../scans/submission/submission.ts';
import type { NetworkLimits } from '../http/networks/network-limits.ts';
import { addressOf, networkOf } from '../http/networks/networks.ts';
import type { Locale } from '../../core/scan/locales.ts';
import { type Estimate, UNKNOWN_SECONDS } from './estimate.ts';
import { isOnlyDomainFull, type PublicScanOptions, rulesOfFullDomain, scanRules } from './settings.ts';
import type { VerifyTurnstile } from './turnstile.ts';

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
  /** The client's address, as `request.address` states it. */
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

/** What an installation that offers public scans has. */
export interface PublicScanning {
  requestPublicScan: RequestPublicScan;
  estimate: Estimate;
}

export interface RequestPublicScanDeps {
  stores: Pick<ApiStores, 'publicScans' | 'rateLimits' | 'scans'>;
  limits: NetworkLimits;
  /** Submits to the public queue. */
  submissions: Submissions;
  /** Null: visitors are not checked. */
  turnstile: VerifyTurnstile | null;
  estimate: Estimate;
  now: () => Date;
  metrics: Pick<FastifyInstance['metrics'], 'publicScan'>;
  options: PublicScanOptions;
}

/** The same URL for the same e-mail address and network is not scanned again within this time while its scan is live. */
const REPEAT_WITHIN_MS = 10 * 60_000;
/** A submission takes less. If its scan has no row after this time, its process has died. */
const SUBMITTED_WITHIN_MS = 60_000;
/** How long a request waits for another one that submits the same scan. */
const WAIT_MS = 3_000;
const WAIT_STEP_MS = 100;
const DAY_MS = 86_400_000;

export function createRequestPublicScan(deps: RequestPublicScanDeps): RequestPublicScan {
  async function answer(request: PublicScanRequest, logger: Logger): Promise<PublicScanOutcome> {
    const attempt = deps.limits.admit('public-requests', request.address);
    if (!attempt.ok) return attempt;
    const earlier = await earlierOf(deps, request);
    if (earlier?.token !== undefined) return accepted(deps, { token: earlier.token, repeated: true, limits: attempt.states }, logger);
    const scan = newPublicScan(deps, request, earlier?.scanId ?? randomUUID());
    const claim = await claimOrFind(deps, scan, networkOf(request.address));
    if (!claim.ok) return claim;
    if (claim.token !== scan.token) return accepted(deps, { token: claim.token, repeated: true, limits: attempt.states }, logger);
    const forget = () =>
      bestEffort('the token of a refused public scan remains for the sweeper', logger, () => deps.stores.publicScans.remove(scan.token));
    try {
      const submitted = await submitWithinLimits(deps, request, scan, logger);
      if (submitted.ok) return await accepted(deps, { token: scan.token, repeated: false, limits: submitted.limits }, logger);
      await forget();
      return submitted;
    } catch (error) {
      // If the scan runs nevertheless, its token was never sent to anyone.
      await forget();
      throw error;
    }
  }

  return async (request, logger) => {
    const normalised = { ...request, url: URL.canParse(request.url) ? new URL(request.url).href : request.url };
    const outcome = await answer(normalised, logger);
    deps.metrics.publicScan(outcome.ok ? (outcome.repeated ? 'repeated' : 'accepted') : outcome.reason);
    return outcome;
  };
}

/** The scan is submitted, so a failed estimate must not refuse it. */
async function accepted(
  { estimate }: RequestPublicScanDeps,
  found: Omit<Extract<PublicScanOutcome, { ok: true }>, 'ok' | 'estimatedSeconds'>,
  logger: Logger,
): Promise<PublicScanOutcome> {
  let estimatedSeconds = UNKNOWN_SECONDS;
  try {
    estimatedSeconds = await estimate();
  } catch (error) {
    logger.warn({ err: error }, 'public scan not estimated');
  }
  return { ok: true, estimatedSeconds, ...found };
}

/**
 * Claims the URL and e-mail address for a network. Before the limits and Turnstile, so that equal requests at the same time are
 * one scan and count once. Another network never gets the token: who guesses both must not read the result.
 * @returns the token of the scan, or of the one that is under way
 */
async function claimOrFind(
  deps: RequestPublicScanDeps,
  scan: PublicScan,
  network: string,
): Promise<{ ok: true; token: string } | PublicScanRefusal> {
  const { publicScans } = deps.stores;
  const until = performance.now() + WAIT_MS;
  for (;;) {
    const claimed = await publicScans.claim(scan, network);
    if (claimed.ok) return { ok: true, token: scan.token };
    const standing = await standingOf(deps, claimed.by);
    if (standing === 'live') return { ok: true, token: claimed.by.token };
    if (standing === 'over') await publicScans.releaseClaim(claimed.by.token);
    else if (performance.now() > until) return { ok: false, reason: 'in_progress' };
    else await sleep(WAIT_STEP_MS);
  }
}

type Submitted = { ok: true; limits: RateLimitState[] } | PublicScanRefusal;

/** Submits a claimed scan. A refused or failed one consumes nothing of the limits. */
async function submitWithinLimits(
  deps: RequestPublicScanDeps,
  request: PublicScanRequest,
  scan: NewPublicScan,
  logger: Logger,
): Promise<Submitted> {
  const { rateLimits } = deps.stores;
  const rules = scanRules(request, deps.options);
  const { hit } = scan.counted;
  const first = await rateLimits.admit(rules, { hit });
  const closed = !first.ok && isOnlyDomainFull(first.states);
  const admitted = closed ? await rateLimits.admit(rulesOfFullDomain(rules), { hit }) : first;
  if (!admitted.ok) return admitted;
  const refund = () => bestEffort('a refused request counts against the limits', logger, () => rateLimits.refund(rules, hit));
  try {
    const refusal = await verifyAndSubmit(deps, request, scan, logger);
    if (refusal === null) return { ok: true, limits: admitted.states };
    await refund();
    return refusal;
  } catch (error) {
    await refund();
    throw error;
  }
}

/** @returns null if the scan is submitted */
async function verifyAndSubmit(
  deps: RequestPublicScanDeps,
  { turnstileToken, address, url, httpFallback, email, locale, requestId, traceparent }: PublicScanRequest,
  { scanId }: PublicScan,
  logger: Logger,
): Promise<PublicScanRefusal | null> {
  if (deps.turnstile !== null) {
    const verdict = await deps.turnstile({ token: turnstileToken, address: addressOf(address), request: `${url}\n${email}` }, logger);
    if (!verdict.ok) return verdict;
  }
  const outcome = await deps.submissions.submit(
    {
      organisation: ANONYMOUS,
      scanId,
      queue: PUBLIC_QUEUE,
      options: { ...withDefaults({ url, httpFallback, locale }), maxPages: 1 },
      partial: false,
      idempotency: null,
      origin: { requestId, traceparent },
    },
    logger,
  );
  // It needs no credits and has no Idempotency-Key.
  return outcome.ok ? null : (outcome as PublicScanRefusal);
}

/**
 * What an interrupted request with the same Idempotency-Key left: the token of its scan, or the ID that the scan gets.
 * @returns null if the scan needs an ID of its own, because there is no key or the earlier scan will never run
 */
async function earlierOf(
  { stores }: RequestPublicScanDeps,
  { idempotent }: PublicScanRequest,
): Promise<{ scanId: string; token?: string } | null> {
  if (idempotent == null) return null;
  const { resourceId: scanId, takenOver } = idempotent;
  if (!takenOver) return { scanId };
  const found = await stores.publicScans.findByScan(scanId);
  const row = await stores.scans.find(scanId);
  // Its token may be removed already.
  if (row?.submission === 'abandoned') return null;
  if (found === null) return { scanId };
  return row?.submission === 'accepted' ? { scanId, token: found.token } : null;
}

/** With the request's place in the limits, which the operator takes back if the scan fails through a fault of ours. */
type NewPublicScan = PublicScan & { counted: CountedRequest };

function newPublicScan({ now, options }: RequestPublicScanDeps, request: PublicScanRequest, scanId: string): NewPublicScan {
  const { url, email, locale } = request;
  const counted = { hit: randomUUID(), logs: scanRules(request, options).map(({ policy, subject }) => ({ policy, subject })) };
  const createdAt = now();
  const expiresAt = new Date(createdAt.getTime() + options.retentionDays * DAY_MS);
  return { token: newToken(), scanId, url, email, locale, createdAt, expiresAt, counted };
}

/** `submitting`: its row is not decided yet. `over`: it ended, never ran, or is too old, so the URL may be scanned again. */
async function standingOf({ stores, now }: RequestPublicScanDeps, claimed: PublicScan): Promise<'live' | 'submitting' | 'over'> {
  const ageMs = now().getTime() - claimed.createdAt.getTime();
  if (ageMs >= REPEAT_WITHIN_MS) return 'over';
  const row = await stores.scans.find(claimed.scanId);
  if (row === null || row.submission === 'pending') return ageMs < SUBMITTED_WITHIN_MS ? 'submitting' : 'over';
  return row.submission === 'abandoned' || isTerminal(row.phase) ? 'over' : 'live';
}
