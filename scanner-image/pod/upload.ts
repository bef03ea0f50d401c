/** Stores an object by PUT to a presigned URL. Retries are safe, because the same bytes go to the same key. */
import { createHash } from 'node:crypto';
import { attemptSignal, untilAnswered, type StoreRetries } from './store-retries.ts';

export interface Uploaded {
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
