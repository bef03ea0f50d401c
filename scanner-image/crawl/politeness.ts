/** Visits pages without overloading their server: obeys the crawl delay of robots.txt, and `Retry-After` of 429 and 503. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from '../page/browser/pool.ts';
import { atMost, type FailedVisit, type Visit, type VisitRequest } from '../page/visit/visit.ts';
import { OUT_OF_TIME } from './page-checks.ts';

/** The delay before the second visit of a page whose server failed briefly, in milliseconds. */
const UNAVAILABLE_RETRY_MS = 1000;
const FIRST_PAGE_RETRY_MS = 500;
/** A visit that times out this shortly before the deadline, in milliseconds, was ended by it. */
const CUT_SHORT_MS = 1000;

export interface PoliteDeps {
  pool: Pick<Pool, 'visit'>;
  /** The distance between the starts of two pages of the host of a URL, from robots.txt, in milliseconds. */
  crawlDelayMs: (url: URL) => number;
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

  function pacingOf(url: URL): OriginPacing {
    const pacing = origins.get(url.origin) ?? createOriginPacing(() => deps.crawlDelayMs(url));
    origins.set(url.origin, pacing);
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
      const budget = atMost(softDeadline() - startedAt, request);
      const visit = await pool.visit(worker, { ...request, ...budget });
      // A page that had less than its time was not slow. One that was given up earlier was: loading gets a share of the time.
      const isCutShort = budget.largeBudgetMs < request.largeBudgetMs && softDeadline() - clock.monotonic() < CUT_SHORT_MS;
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
    message: why === 'closed' ? closed : last !== null ? late : OUT_OF_TIME.message,
    finalUrl: last?.finalUrl ?? null,
    status: last?.status ?? null,
    retryAfterMs: null,
    durationMs: last?.durationMs ?? 0,
    broken: false,
  };
}

/*
 * When the next page of an origin may start. All workers of a scan share it: if a server limits the rate of requests, all of
 * them wait, and pages start further apart from then on. The time is passed in.
 */

/** Limits of waiting for a server that limits the rate of requests. */
export const RATE_LIMITS = {
  /** How often a page is requested, at most. */
  tries: 5,
  /** The longest wait that a server may ask for, in milliseconds. */
  pauseMs: 60_000,
  /** All waits of a scan together, in milliseconds. */
  totalMs: 5 * 60_000,
  /** The first wait if the server names none, in milliseconds. It doubles with each further limited response. */
  firstPauseMs: 1000,
  /** Pages that are given up without one that loads before the rest of the origin is not requested any more. */
  givenUpInRow: 5,
  /** The distance between the starts of two pages after the first limited response, and the largest, in milliseconds. */
  firstSpacingMs: 250,
  maxSpacingMs: 5000,
  /** After this many pages in a row without a limit, they start closer together again. */
  recoverAfter: 10,
} as const;

/** When a page may start, in milliseconds of the clock. `closed`: the server limits so much that it is not asked any more. */
type Turn = { ok: true; at: number } | { ok: false; reason: 'closed' };

/** What follows from a limited response. */
type Limited = { again: true } | { again: false; reason: 'tries' | 'pause_too_long' | 'total' };

/** @param delayMs the distance that robots.txt asks for, in milliseconds */
export function createOriginPacing(delayMs: () => number) {
  let next = Number.NEGATIVE_INFINITY;
  let paused = { from: Number.NEGATIVE_INFINITY, until: Number.NEGATIVE_INFINITY };
  let spacingMs = 0;
  let nextPauseMs: number = RATE_LIMITS.firstPauseMs;
  let waitedMs = 0;
  let servedInRow = 0;
  let givenUpInRow = 0;
  let limitedAt = Number.NEGATIVE_INFINITY;

  function pause(now: number, startedAt: number, ms: number): void {
    // Pages that were requested together are limited together. Only the first response slows the scan down.
    if (startedAt >= paused.from) {
      spacingMs = Math.min(RATE_LIMITS.maxSpacingMs, Math.max(RATE_LIMITS.firstSpacingMs, spacingMs * 2));
      nextPauseMs = Math.min(RATE_LIMITS.pauseMs, nextPauseMs * 2);
      paused = { from: now, until: paused.until };
    }
    waitedMs += Math.max(0, now + ms - Math.max(now, paused.until));
    paused.until = Math.max(paused.until, now + ms);
  }

  return {
    /** Takes the next turn. */
    turn(now: number): Turn {
      if (givenUpInRow >= RATE_LIMITS.givenUpInRow) return { ok: false, reason: 'closed' };
      const at = Math.max(now, next, paused.until);
      next = at + Math.max(delayMs(), spacingMs);
      return { ok: true, at };
    },
    /** Whether no page may start now. A pause may begin while a page waits for its turn; that page takes another one. */
    paused: (now: number): boolean => paused.until > now,
    /** A page that started at `startedAt` was loaded. It says nothing about a limit that came after its start. */
    served(startedAt: number): void {
      if (startedAt < limitedAt) return;
      givenUpInRow = 0;
      servedInRow += 1;
      if (servedInRow < RATE_LIMITS.recoverAfter) return;
      servedInRow = 0;
      spacingMs = spacingMs < RATE_LIMITS.firstSpacingMs ? 0 : spacingMs / 2;
      nextPauseMs = RATE_LIMITS.firstPauseMs;
    },
    /**
     * A page that started at `startedAt` got a response with a limit.
     * @param tries how often the page was requested
     * @param askedMs the wait that the server asks for; null if it names none
     */
    limited({ now, startedAt, tries, askedMs }: { now: number; startedAt: number; tries: number; askedMs: number | null }): Limited {
      servedInRow = 0;
      limitedAt = Math.max(limitedAt, now);
      const ms = askedMs ?? nextPauseMs;
      const reason =
        ms > RATE_LIMITS.pauseMs
          ? 'pause_too_long'
          : tries >= RATE_LIMITS.tries
            ? 'tries'
            : waitedMs + ms > RATE_LIMITS.totalMs
              ? 'total'
              : null;
      if (reason !== null) {
        givenUpInRow += 1;
        return { again: false, reason };
      }
      pause(now, startedAt, ms);
      return { again: true };
    },
  };
}

export type OriginPacing = ReturnType<typeof createOriginPacing>;
