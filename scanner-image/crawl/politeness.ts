/** Respects the crawl delay of robots.txt, and `Retry-After`. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from '../browser/pool.ts';
import type { Visit, VisitRequest } from '../browser/visit.ts';

/** Statuses that are retried after `Retry-After`. */
const RETRY_LATER = new Set([429, 503]);
const DEFAULT_RETRY_MS = 1000;
const FIRST_PAGE_RETRY_MS = 500;

/** Visits a page. Retries once within its budget if the status is temporary, or if the first page has no response. */
export async function visitPolitely(pool: Pool, worker: number, isFirst: boolean, request: VisitRequest): Promise<Visit> {
  const started = performance.now();
  const visit = await pool.visit(worker, request);
  if (visit.loaded) return visit;
  const left = request.budgetMs - (performance.now() - started);
  const wait = retryDelay(visit, isFirst);
  if (wait === null || wait > left / 2) return visit;
  await sleep(wait);
  const again = await pool.visit(worker, { ...request, budgetMs: left - wait });
  return { ...again, durationMs: Math.round(performance.now() - started) };
}

/** The delay before the retry, in milliseconds; null if the failure is final. */
function retryDelay(visit: Extract<Visit, { loaded: false }>, isFirst: boolean): number | null {
  if (visit.reason === 'http_error' && visit.status !== null && RETRY_LATER.has(visit.status))
    return visit.retryAfterMs ?? DEFAULT_RETRY_MS;
  return isFirst && visit.reason === 'navigation_failed' ? FIRST_PAGE_RETRY_MS : null;
}

/** A clock that never jumps, or a pod whose time is set back would wait for as long before the next page. */
const MONOTONIC = { now: (): number => performance.now(), sleep: (ms: number): Promise<unknown> => sleep(ms) };

/** Returns a function that waits until the next page may start: pages start at least `delayMs()` apart. */
export function createPacer(delayMs: () => number, clock = MONOTONIC): () => Promise<void> {
  let next = Number.NEGATIVE_INFINITY;
  return async () => {
    const now = clock.now();
    const at = Math.max(now, next);
    next = at + delayMs();
    if (at > now) await clock.sleep(at - now);
  };
}
