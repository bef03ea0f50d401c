/** Retries of requests to presigned URLs, for both directions. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createHash } from 'node:crypto';
import { authorityHint } from '../../platform/authorities.ts';
import { retry } from '../../platform/concurrency/retry.ts';
import type { ReadReport } from '../../report/diff/baseline.ts';

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

/** Stores an object by PUT to a presigned URL. Retries are safe, because the same bytes go to the same key. */
interface Uploaded {
  bytes: number;
  /** Lower-case hexadecimal. */
  sha256: string;
}

export interface UploadOptions extends StoreRetries {
  /** The name of the object in messages. */
  what: string;
}

/** Storing the object failed. The message never contains the URL, because it is a credential. */
export class UploadFailed extends Error {
  override readonly name = 'UploadFailed';
}

/** Statuses that a retry may resolve. */
const isTransient = (status: number): boolean => status === 408 || status === 425 || status === 429 || status >= 500;

/**
 * Puts `body` to `url`. If the network or the server fails, it tries again until the signal aborts, because a finished scan must
 * survive an outage of the object store.
 * @param options.onFailure called with each failure that is retried
 * @throws UploadFailed if the store rejects the object; the signal's reason if it aborts
 */
export function upload(url: string, body: Uint8Array<ArrayBuffer>, contentType: string, options: UploadOptions): Promise<Uploaded> {
  const { what, signal } = options;
  const put = async (): Promise<Uploaded> => {
    const response = await fetch(url, {
      method: 'PUT',
      body,
      headers: { 'content-type': contentType },
      redirect: 'error',
      signal: attemptSignal(signal),
    });
    const answer = (await response.text()).slice(0, 300);
    if (response.ok) return { bytes: body.byteLength, sha256: createHash('sha256').update(body).digest('hex') };
    const failure = `the object store responded with status ${response.status} ${answer.replace(/\s+/g, ' ')}`.trim();
    throw isTransient(response.status) ? new Error(failure) : new UploadFailed(`Storing the ${what} failed: ${failure}.`);
  };
  return untilAnswered(put, options, (error) => error instanceof UploadFailed);
}

/** Reads the export of the baseline from a presigned URL. */
interface DownloadOptions extends StoreRetries {
  /** The most bytes that are read. */
  maxBytes: number;
}

/**
 * Gets an object. If the network or the server fails, it tries again until the signal aborts.
 * @throws the signal's reason if it aborts
 */
export function download(url: string, options: DownloadOptions): Promise<ReadReport> {
  const { maxBytes, signal } = options;
  const get = async (): Promise<ReadReport> => {
    const response = await fetch(url, { redirect: 'error', signal: attemptSignal(signal) });
    if (!response.ok) {
      // Gives the connection back.
      await response.body?.cancel();
      if (response.status === 404) return { ok: false, reason: 'missing' };
      throw new Error(`the object store responded with status ${response.status}`);
    }
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of response.body!) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) return { ok: false, reason: 'too_large' };
      chunks.push(chunk);
    }
    return { ok: true, bytes: Buffer.concat(chunks) };
  };
  return untilAnswered(get, options);
}
