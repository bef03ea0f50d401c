/** Repeats an operation that failed. */
import { setTimeout as sleep } from 'node:timers/promises';

export interface RetryOptions {
  /** The maximum number of attempts. */
  attempts: number;
  /** Whether another attempt may succeed. Default: after every error. It may record the error. */
  retries?: (error: unknown, attempt: number) => boolean;
  /** The pause after an attempt, in milliseconds. Default: none. */
  pauseMs?: (attempt: number) => number;
  pause?: (ms: number) => Promise<unknown>;
}

/** @param operation gets the number of the attempt, from 1 @throws the error of the last attempt */
export async function retry<T>(
  operation: (attempt: number) => Promise<T>,
  { attempts, retries = () => true, pauseMs, pause = sleep }: RetryOptions,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await operation(attempt);
    } catch (error) {
      if (attempt >= attempts || !retries(error, attempt)) throw error;
      if (pauseMs !== undefined) await pause(pauseMs(attempt));
    }
  }
}
