/** Reads the export of the baseline from a presigned URL. */
import type { ReadReport } from '../../report/diff/baseline.ts';
import { attemptSignal, untilAnswered, type StoreRetries } from './store-retries.ts';

export interface DownloadOptions extends StoreRetries {
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
