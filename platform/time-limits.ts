/** Time limits for waits. */

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
