/** Stores an object by PUT to a presigned URL. Retries are safe, because the same bytes go to the same key. */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Uploaded {
  bytes: number;
  /** Lower-case hexadecimal. */
  sha256: string;
}

/** Storing the object failed. The message never contains the URL, because it is a credential. */
export class UploadFailed extends Error {
  override readonly name = 'UploadFailed';
}

const ATTEMPTS = 6;
const ATTEMPT_MS = 120_000;

/** Statuses that a retry may resolve. */
const isTransient = (status: number): boolean => status === 408 || status === 425 || status === 429 || status >= 500;

/**
 * Puts `body` to `url`. Retries after about 0.5, 1, 2, 4 and 8 s (± 50 % at random) if the network or the server fails.
 * @param options.what the name of the object in messages
 * @throws UploadFailed with the last response or error
 */
export async function upload(
  url: string,
  body: Uint8Array<ArrayBuffer>,
  contentType: string,
  options: { what: string; signal?: AbortSignal; pause?: (ms: number) => Promise<unknown>; random?: () => number },
): Promise<Uploaded> {
  const { what, signal, random = Math.random, pause = (ms) => sleep(ms, undefined, { signal }) } = options;
  let last = '';
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (attempt > 0) await pause(250 * 2 ** attempt * (0.5 + random()));
    signal?.throwIfAborted();
    try {
      const response = await fetch(url, {
        method: 'PUT',
        body,
        headers: { 'content-type': contentType },
        redirect: 'error',
        signal: AbortSignal.any([AbortSignal.timeout(ATTEMPT_MS), ...(signal === undefined ? [] : [signal])]),
      });
      const answer = (await response.text()).slice(0, 300);
      if (response.ok) return { bytes: body.byteLength, sha256: createHash('sha256').update(body).digest('hex') };
      last = `the object store responded with status ${response.status} ${answer.replace(/\s+/g, ' ')}`.trim();
      if (!isTransient(response.status)) break;
    } catch (error) {
      signal?.throwIfAborted();
      last = error instanceof Error ? `${error.message}${error.cause instanceof Error ? ` (${error.cause.message})` : ''}` : String(error);
    }
  }
  throw new UploadFailed(`Storing the ${what} failed: ${last}.`);
}
