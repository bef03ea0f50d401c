/**
 * Submits public scans: limits, Turnstile, and then the submission that every scan goes through, under the anonymous
 * organisation. A refused request consumes nothing of the limits on scans, and nothing is stored for it.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ANONYMOUS } from '../../core/organisation.ts';
import { PUBLIC_QUEUE } from '../../core/protocol/custom-resources.ts';
import { withDefaults } from '../../core/scan/options.ts';
import { isTerminal } from '../../core/scan/phases.ts';
import type { Logger } from '../../platform/logger.ts';
import type { PublicScan } from '../../stores/public-scans/public-scans.ts';
import type { ApiStores } from '../dependencies.ts';
import type { Metrics } from '../metrics.ts';
import { bestEffort } from '../submission/best-effort.ts';
import type { Submissions } from '../submission/submission.ts';
import { attemptRules, scanRules } from './limits.ts';
import type { PublicScanOutcome, PublicScanRefusal, PublicScanRequest, RequestPublicScan } from './public-scan.ts';
import type { PublicScanOptions } from './settings.ts';
import type { VerifyTurnstile } from './turnstile.ts';

export interface RequestPublicScanDeps {
  stores: Pick<ApiStores, 'publicScans' | 'rateLimits' | 'scans'>;
  /** Submits to the public queue. */
  submissions: Submissions;
  /** Null: visitors are not checked. */
  turnstile: VerifyTurnstile | null;
  estimate: () => Promise<number>;
  clock: () => Date;
  metrics: Pick<Metrics, 'publicScan'>;
  options: PublicScanOptions;
}

/** The same URL for the same e-mail address is not scanned again within this time while its scan is live. */
const REPEAT_WITHIN_MS = 10 * 60_000;
/** A submission takes less. If its scan has no row after this time, its process has died. */
const SUBMITTED_WITHIN_MS = 60_000;
/** How long a request waits for another one that submits the same scan. */
const WAIT_MS = 3_000;
const WAIT_STEP_MS = 100;
const DAY_MS = 86_400_000;

/** 256 bits, so that a token cannot be guessed. */
const newToken = (): string => randomBytes(32).toString('base64url');

export function createRequestPublicScan(deps: RequestPublicScanDeps): RequestPublicScan {
  const { rateLimits } = deps.stores;

  async function answer(request: PublicScanRequest, logger: Logger): Promise<PublicScanOutcome> {
    const attempt = await rateLimits.admit(attemptRules(request.address));
    if (!attempt.ok) return attempt;
    const repeated = await findRepeated(deps, request);
    if (repeated !== null) return accepted(deps, { token: repeated.token, repeated: true, limits: attempt.states });
    const rules = scanRules(request, deps.options);
    const hit = randomUUID();
    const admitted = await rateLimits.admit(rules, { hit });
    if (!admitted.ok) return admitted;
    const refund = () => bestEffort('a refused request counts against the limits', logger, () => rateLimits.refund(rules, hit));
    try {
      const submitted = await verifyAndSubmit(deps, request, logger);
      if (!submitted.ok || submitted.repeated) await refund();
      return submitted.ok ? await accepted(deps, { ...submitted, limits: admitted.states }) : submitted;
    } catch (error) {
      await refund();
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

type Submitted = { ok: true; token: string; repeated: boolean };

async function accepted(
  { estimate }: RequestPublicScanDeps,
  found: Omit<Extract<PublicScanOutcome, { ok: true }>, 'ok' | 'estimatedSeconds'>,
): Promise<PublicScanOutcome> {
  return { ok: true, estimatedSeconds: await estimate(), ...found };
}

async function verifyAndSubmit(
  deps: RequestPublicScanDeps,
  request: PublicScanRequest,
  logger: Logger,
): Promise<Submitted | PublicScanRefusal> {
  if (deps.turnstile !== null) {
    const { turnstileToken: token, address, url, email } = request;
    const verdict = await deps.turnstile({ token, address, request: `${url}\n${email}` }, logger);
    if (!verdict.ok) return verdict;
  }
  const scan = newPublicScan(deps, request);
  const until = performance.now() + WAIT_MS;
  for (;;) {
    const claimed = await deps.stores.publicScans.claim(scan);
    if (claimed.ok) return submit(deps, request, scan, logger);
    const standing = await standingOf(deps, claimed.by);
    if (standing === 'live') return { ok: true, token: claimed.by.token, repeated: true };
    if (standing === 'over') await deps.stores.publicScans.releaseClaim(claimed.by.token);
    else if (performance.now() > until) return { ok: false, reason: 'in_progress' };
    else await sleep(WAIT_STEP_MS);
  }
}

function newPublicScan({ clock, options }: RequestPublicScanDeps, { url, email, locale }: PublicScanRequest): PublicScan {
  const createdAt = clock();
  const expiresAt = new Date(createdAt.getTime() + options.retentionDays * DAY_MS);
  return { token: newToken(), scanId: randomUUID(), url, email, locale, createdAt, expiresAt };
}

async function submit(
  { stores, submissions }: RequestPublicScanDeps,
  { url, locale, requestId, traceparent }: PublicScanRequest,
  { token, scanId }: PublicScan,
  logger: Logger,
): Promise<Submitted | PublicScanRefusal> {
  const forget = () =>
    bestEffort('the token of a refused public scan remains for the sweeper', logger, () => stores.publicScans.remove(token));
  try {
    const outcome = await submissions.submit(
      {
        organisation: ANONYMOUS,
        scanId,
        queue: PUBLIC_QUEUE,
        options: { ...withDefaults({ url, locale }), maxPages: 1 },
        partial: false,
        idempotency: null,
        origin: { requestId, traceparent },
      },
      logger,
    );
    if (outcome.ok) return { ok: true, token, repeated: false };
    await forget();
    // It needs no credits and has no Idempotency-Key.
    return outcome as PublicScanRefusal;
  } catch (error) {
    // If the scan runs all the same, nobody knows its token.
    await forget();
    throw error;
  }
}

/** Returns the public scan for the same URL and e-mail address that is under way, or null. */
async function findRepeated(deps: RequestPublicScanDeps, { url, email }: PublicScanRequest): Promise<PublicScan | null> {
  const claimed = await deps.stores.publicScans.findClaim(url, email);
  return claimed !== null && (await standingOf(deps, claimed)) === 'live' ? claimed : null;
}

/** `submitting`: its row is not decided yet. `over`: it ended, never ran, or is too old, so the URL may be scanned again. */
async function standingOf({ stores, clock }: RequestPublicScanDeps, claimed: PublicScan): Promise<'live' | 'submitting' | 'over'> {
  const ageMs = clock().getTime() - claimed.createdAt.getTime();
  if (ageMs >= REPEAT_WITHIN_MS) return 'over';
  const row = await stores.scans.find(claimed.scanId);
  if (row === null || row.submission === 'pending') return ageMs < SUBMITTED_WITHIN_MS ? 'submitting' : 'over';
  return row.submission === 'abandoned' || isTerminal(row.phase) ? 'over' : 'live';
}
