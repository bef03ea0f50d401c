/**
 * When the next page of an origin may start. All workers of a scan share it: if a server limits the rate of requests, all of
 * them wait, and pages start further apart from then on. Pure: the time is passed in.
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
export type Turn = { ok: true; at: number } | { ok: false; reason: 'closed' };

/** What follows from a limited response. */
export type Limited = { again: true } | { again: false; reason: 'tries' | 'pause_too_long' | 'total' };

export interface OriginPacing {
  /** Takes the next turn. */
  turn(now: number): Turn;
  /** Whether no page may start now. A pause may begin while a page waits for its turn; that page takes another one. */
  paused(now: number): boolean;
  /** A page that started at `startedAt` was loaded. It says nothing about a limit that came after its start. */
  served(startedAt: number): void;
  /**
   * A page that started at `startedAt` got a response with a limit.
   * @param tries how often the page was requested
   * @param askedMs the wait that the server asks for; null if it names none
   */
  limited(page: { now: number; startedAt: number; tries: number; askedMs: number | null }): Limited;
}

/** @param delayMs the distance that robots.txt asks for, in milliseconds */
export function createOriginPacing(delayMs: () => number): OriginPacing {
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
    turn(now) {
      if (givenUpInRow >= RATE_LIMITS.givenUpInRow) return { ok: false, reason: 'closed' };
      const at = Math.max(now, next, paused.until);
      next = at + Math.max(delayMs(), spacingMs);
      return { ok: true, at };
    },
    paused: (now) => paused.until > now,
    served(startedAt) {
      if (startedAt < limitedAt) return;
      givenUpInRow = 0;
      servedInRow += 1;
      if (servedInRow < RATE_LIMITS.recoverAfter) return;
      servedInRow = 0;
      spacingMs = spacingMs < RATE_LIMITS.firstSpacingMs ? 0 : spacingMs / 2;
      nextPauseMs = RATE_LIMITS.firstPauseMs;
    },
    limited({ now, startedAt, tries, askedMs }) {
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
