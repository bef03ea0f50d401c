/** Reads the export of the baseline from a presigned URL. */
import { setTimeout as sleep } from 'node:timers/promises';
import { retry } from '../../platform/concurrency/retry.ts';
import type { ReadReport } from '../../report/diff/baseline.ts';

export interface DownloadOptions {
  /** The most bytes that are read. */
  maxBytes: number;
  /** Ends the retries. */
  signal: AbortSignal;
  onFailure?: (attempt: number, message: string) => void;
  pause?: (ms: number) => Promise<unknown>;
}

/** In milliseconds. */
const ATTEMPT_MS = 120_000;
const PAUSE_MAX_MS = 20_000;

/**
 * Gets an object. If the network or the server fails, it tries again until the signal aborts. Errors never contain the URL,
 * because it is a credential.
 * @throws the signal's reason if it aborts
 */
export async function download(url: string, { maxBytes, signal, onFailure, pause }: DownloadOptions): Promise<ReadReport> {
  const get = async (): Promise<ReadReport> => {
    const response = await fetch(url, { redirect: 'error', signal: AbortSignal.any([AbortSignal.timeout(ATTEMPT_MS), signal]) });
    if (response.status === 404) return end(response, { ok: false, reason: 'missing' });
    if (!response.ok) return end(response, new Error(`the object store responded with status ${response.status}`));
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of response.body!) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) return { ok: false, reason: 'too_large' };
      chunks.push(chunk);
    }
    return { ok: true, bytes: Buffer.concat(chunks) };
  };
  const read = retry(get, {
    attempts: Infinity,
    retries(error, attempt) {
      if (signal.aborted) return false;
      onFailure?.(attempt, error instanceof Error ? error.message : String(error));
      return true;
    },
    pauseMs: (attempt) => Math.min(PAUSE_MAX_MS, 250 * 2 ** Math.min(attempt, 20)),
    pause: pause ?? ((ms) => sleep(ms, undefined, { signal })),
  });
  return read.catch((error: unknown) => {
    signal.throwIfAborted();
    throw error;
  });
}

/** Gives the connection of a response back whose body is of no use. @throws the error that it is given */
async function end(response: Response, answer: ReadReport | Error): Promise<ReadReport> {
  await response.body?.cancel();
  if (answer instanceof Error) throw answer;
  return answer;
}
