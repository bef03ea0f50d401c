/** Retries of requests to presigned URLs, for both directions. */
import { setTimeout as sleep } from 'node:timers/promises';
import { authorityHint } from '../../platform/authorities.ts';
import { retry } from '../../platform/concurrency/retry.ts';

export interface StoreRetries {
  /** Ends the retries. */
  signal: AbortSignal;
  onFailure?: (attempt: number, message: string) => void;
  pause?: (ms: number) => Promise<unknown>;
  random?: () => number;
}

/** The time limit of one attempt, in milliseconds. */
const ATTEMPT_MS = 120_000;
/** The longest pause before another attempt, in milliseconds, apart from jitter. */
const PAUSE_MAX_MS = 20_000;

export const attemptSignal = (signal: AbortSignal): AbortSignal => AbortSignal.any([AbortSignal.timeout(ATTEMPT_MS), signal]);

/**
 * Repeats a request whenever the network or the server fails, after about 0.5, 1, 2, 4 … 20 s (± 50 % at random), until the
 * signal aborts. Errors must not contain the URL, because it is a credential.
 * @param isFinal whether another attempt cannot succeed
 * @throws a final error; the signal's reason if it aborts
 */
export async function untilAnswered<T>(
  request: () => Promise<T>,
  { signal, onFailure, random = Math.random, pause = (ms) => sleep(ms, undefined, { signal }) }: StoreRetries,
  isFinal: (error: unknown) => boolean = () => false,
): Promise<T> {
  const answered = retry(
    () => {
      signal.throwIfAborted();
      return request();
    },
    {
      attempts: Infinity,
      retries(error, attempt) {
        if (isFinal(error) || signal.aborted) return false;
        onFailure?.(attempt, failureOf(error));
        return true;
      },
      pauseMs: (attempt) => Math.min(PAUSE_MAX_MS, 250 * 2 ** Math.min(attempt, 20)) * (0.5 + random()),
      pause,
    },
  );
  return answered.catch((error: unknown) => {
    if (!isFinal(error)) signal.throwIfAborted();
    throw error;
  });
}

function failureOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return [error.message + cause, authorityHint(error) ?? []].flat().join('. ');
}
