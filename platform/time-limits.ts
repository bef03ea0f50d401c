/** Waits that end. */

/** A wait took longer than its limit. */
export class TimeLimitExceeded extends Error {
  readonly limitMs: number;
  constructor(what: string, limitMs: number) {
    super(`${what} took longer than ${Math.round(limitMs)} ms`);
    this.name = 'TimeLimitExceeded';
    this.limitMs = limitMs;
  }
}

/**
 * Waits for a promise for at most `limitMs` milliseconds. The work itself is not stopped. A rejection that arrives after
 * the limit is ignored.
 * @param what the subject of the error message, such as `readiness check of mongodb`
 * @throws TimeLimitExceeded if the promise is not settled in time
 */
export async function withTimeLimit<T>(promise: Promise<T>, limitMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TimeLimitExceeded(what, limitMs)), Math.max(0, limitMs));
  });
  // After the limit nothing awaits the promise, and an unhandled rejection would end the process.
  promise.catch(() => undefined);
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for a promise until a signal aborts. The work itself is not stopped. @throws the signal's reason if it aborts first */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  // After the abort nothing awaits the promise.
  promise.catch(() => undefined);
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** A signal that aborts with the first of several; undefined if there is none. */
export function anyOf(...signals: readonly (AbortSignal | undefined)[]): AbortSignal | undefined {
  const given = signals.filter((signal) => signal !== undefined);
  return given.length === 0 ? undefined : AbortSignal.any(given);
}
