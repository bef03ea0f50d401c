/** Visits pages without overloading their server: obeys the crawl delay of robots.txt, and `Retry-After` of 429 and 503. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from '../page/browser/pool.ts';
import type { FailedVisit, Visit, VisitRequest } from '../page/visit/visit.ts';
import { createOriginPacing, RATE_LIMITS, type Limited, type OriginPacing } from './pacing.ts';

/** The delay before the second visit of a page whose server failed briefly, in milliseconds. */
const UNAVAILABLE_RETRY_MS = 1000;
const FIRST_PAGE_RETRY_MS = 500;
/** A visit that times out this shortly before the deadline, in milliseconds, was ended by it. */
const CUT_SHORT_MS = 1000;

export interface PoliteDeps {
  pool: Pick<Pool, 'visit'>;
  /** The distance between the starts of two pages, from robots.txt, in milliseconds. */
  crawlDelayMs: () => number;
  /** The time until which a visit must end, in milliseconds of the clock. */
  softDeadline: () => number;
  signal?: AbortSignal;
  /** Time of day would not do: a pod whose time is set back would wait for as long before the next page. */
  clock?: { monotonic: () => number; sleep(ms: number): Promise<unknown> };
}

/**
 * Returns the function that visits a page when its turn comes. Repeats the visit, within bounds, if the server limits the
 * rate of requests or fails briefly. The visit of a page that stays limited has the reason `rate_limited`.
 */
export function createPoliteVisits(deps: PoliteDeps): (worker: number, isFirst: boolean, request: VisitRequest) => Promise<Visit> {
  const { pool, softDeadline, signal } = deps;
  const clock = deps.clock ?? {
    monotonic: () => performance.now(),
    sleep: (ms: number): Promise<unknown> => sleep(ms, undefined, { signal }),
  };
  const origins = new Map<string, OriginPacing>();

  function pacingOf({ origin }: URL): OriginPacing {
    const pacing = origins.get(origin) ?? createOriginPacing(deps.crawlDelayMs);
    origins.set(origin, pacing);
    return pacing;
  }

  /** Waits for the turn of a page. Returns why it has none, or null. */
  async function waitForTurn(pacing: OriginPacing): Promise<'closed' | 'out_of_time' | null> {
    do {
      const turn = pacing.turn(clock.monotonic());
      if (!turn.ok) return turn.reason;
      if (turn.at >= softDeadline()) return 'out_of_time';
      const ms = turn.at - clock.monotonic();
      if (ms > 0) await clock.sleep(ms);
    } while (pacing.paused(clock.monotonic()));
    return null;
  }

  return async (worker, isFirst, request) => {
    const pacing = pacingOf(request.url);
    let last: FailedVisit | null = null;
    let spentMs = 0;
    for (let tries = 1; ; tries++) {
      const noTurn = await waitForTurn(pacing);
      if (noTurn !== null) return notRequested(last, noTurn);
      const startedAt = clock.monotonic();
      const budgetMs = Math.min(request.budgetMs, softDeadline() - startedAt);
      const visit = await pool.visit(worker, { ...request, budgetMs });
      // A page that had less than its time was not slow. One that was given up earlier was: loading gets a share of the time.
      const isCutShort = budgetMs < request.budgetMs && softDeadline() - clock.monotonic() < CUT_SHORT_MS;
      if (!visit.loaded && visit.reason === 'timeout' && isCutShort) visit.message = CUT_SHORT;
      spentMs += visit.durationMs;
      if (!visit.loaded && isLimited(visit)) {
        const decided = pacing.limited({ now: clock.monotonic(), startedAt, tries, askedMs: visit.retryAfterMs });
        if (!decided.again)
          return { ...visit, reason: 'rate_limited', message: limitedMessage(visit, decided.reason, tries), durationMs: spentMs };
        last = visit;
        continue;
      }
      if (visit.loaded) pacing.served(startedAt);
      const delayMs = visit.loaded || tries > 1 ? null : retryDelay(visit, isFirst);
      if (delayMs === null || delayMs > (softDeadline() - clock.monotonic()) / 2) return { ...visit, durationMs: spentMs };
      await clock.sleep(delayMs);
    }
  };
}

/** Whether the server asks for fewer requests: status 429, or 503 with `Retry-After` (RFC 6585, 4; RFC 9110, 15.6.4). */
function isLimited({ reason, status, retryAfterMs }: FailedVisit): boolean {
  return reason === 'http_error' && (status === 429 || (status === 503 && retryAfterMs !== null));
}

/** The delay before the second visit, in milliseconds; null if the failure is final. */
function retryDelay({ reason, status }: FailedVisit, isFirst: boolean): number | null {
  if (reason === 'http_error' && status === 503) return UNAVAILABLE_RETRY_MS;
  return isFirst && reason === 'navigation_failed' ? FIRST_PAGE_RETRY_MS : null;
}

const CUT_SHORT = 'The scan reached its deadline while this page was loaded or tested. Scan fewer pages, or increase the deadline.';

const ADVICE = 'Allow more requests for the user agent that contains "Curbcut", or set a Crawl-delay in robots.txt.';

function limitedMessage(
  { status, retryAfterMs }: FailedVisit,
  reason: Extract<Limited, { again: false }>['reason'],
  tries: number,
): string {
  const limits = `The server limits the rate of requests (status ${status})`;
  switch (reason) {
    case 'pause_too_long':
      return `${limits} and asks to wait ${Math.ceil((retryAfterMs ?? 0) / 1000)} s. A scan waits for ${RATE_LIMITS.pauseMs / 1000} s at most. ${ADVICE}`;
    case 'tries':
      return `${limits}, also after ${tries} requests for the page with the waits that it asked for. ${ADVICE}`;
    case 'total':
      return `${limits}, and the scan has waited for ${RATE_LIMITS.totalMs / 60_000} minutes already. ${ADVICE}`;
  }
}

/** The result for a page that has no turn. `last`: its earlier visit. */
function notRequested(last: FailedVisit | null, why: 'closed' | 'out_of_time'): FailedVisit {
  const limited = why === 'closed' || last !== null;
  const closed = `The server kept limiting the rate of requests, so this page was not requested${last === null ? '' : ' again'}. ${ADVICE}`;
  const late = `The server limits the rate of requests (status ${last?.status}), and the scan reached its deadline before the page could be requested again. ${ADVICE}`;
  return {
    loaded: false,
    reason: limited ? 'rate_limited' : 'timeout',
    message: why === 'closed' ? closed : last !== null ? late : 'The scan reached its deadline before this page was tested.',
    finalUrl: last?.finalUrl ?? null,
    status: last?.status ?? null,
    retryAfterMs: null,
    durationMs: last?.durationMs ?? 0,
    broken: false,
  };
}
