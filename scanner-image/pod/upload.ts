/** Stores an object by PUT to a presigned URL. Retries are safe, because the same bytes go to the same key. */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { retry } from '../../platform/concurrency/retry.ts';

export interface Uploaded {
  bytes: number;
  /** Lower-case hexadecimal. */
  sha256: string;
}

export interface UploadOptions {
  what: string;
  /** Ends the retries. */
  signal: AbortSignal;
  onFailure?: (attempt: number, message: string) => void;
  pause?: (ms: number) => Promise<unknown>;
  random?: () => number;
}

/** Storing the object failed. The message never contains the URL, because it is a credential. */
export class UploadFailed extends Error {
  override readonly name = 'UploadFailed';
}

const ATTEMPT_MS = 120_000;
/** The longest pause before another attempt, in milliseconds, apart from jitter. */
const PAUSE_MAX_MS = 20_000;

/** Statuses that a retry may resolve. */
const isTransient = (status: number): boolean => status === 408 || status === 425 || status === 429 || status >= 500;

/**
 * Puts `body` to `url`. If the network or the server fails, it retries after about 0.5, 1, 2, 4 … 20 s (± 50 % at random)
 * until the signal aborts, because a finished scan must survive an outage of the object store.
 * @param options.what the name of the object in messages
 * @param options.onFailure called with each failure that is retried
 * @throws UploadFailed if the store rejects the object; the signal's reason if it aborts
 */
export async function upload(url: string, body: Uint8Array<ArrayBuffer>, contentType: string, options: UploadOptions): Promise<Uploaded> {
  const { what, signal, onFailure, random = Math.random, pause = (ms) => sleep(ms, undefined, { signal }) } = options;
  const put = async (): Promise<Uploaded> => {
    signal.throwIfAborted();
    const response = await fetch(url, {
      method: 'PUT',
      body,
      headers: { 'content-type': contentType },
      redirect: 'error',
      signal: AbortSignal.any([AbortSignal.timeout(ATTEMPT_MS), signal]),
    });
    const answer = (await response.text()).slice(0, 300);
    if (response.ok) return { bytes: body.byteLength, sha256: createHash('sha256').update(body).digest('hex') };
    const failure = `the object store responded with status ${response.status} ${answer.replace(/\s+/g, ' ')}`.trim();
    throw isTransient(response.status) ? new Error(failure) : new UploadFailed(`Storing the ${what} failed: ${failure}.`);
  };
  const uploaded = retry(put, {
    attempts: Infinity,
    retries(error, attempt) {
      if (error instanceof UploadFailed || signal.aborted) return false;
      onFailure?.(attempt, failureOf(error));
      return true;
    },
    pauseMs: (attempt) => Math.min(PAUSE_MAX_MS, 250 * 2 ** Math.min(attempt, 20)) * (0.5 + random()),
    pause,
  });
  return uploaded.catch((error: unknown) => {
    if (!(error instanceof UploadFailed)) signal.throwIfAborted();
    throw error;
  });
}

const failureOf = (error: unknown): string =>
  error instanceof Error ? `${error.message}${error.cause instanceof Error ? ` (${error.cause.message})` : ''}` : String(error);
