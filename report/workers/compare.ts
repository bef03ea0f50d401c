/** Compares the stored exports of two scans, in a worker thread with limited memory. */
import type { Worker } from 'node:worker_threads';
import type { ComparedReports } from '../diff/summary.ts';
import { LARGE_EXPORT_BYTES, smallMemoryMib } from '../schema/export-size.ts';
import type { Logger } from '../../platform/logger.ts';
import { createSemaphore, ONE_AT_A_TIME, type Semaphore } from '../../platform/concurrency/semaphore.ts';
import { InputRefused, nextMessage, startThread } from '../../platform/concurrency/worker-threads.ts';
import { reportKeys, type ReportReader } from '../schema/objects.ts';
import type { CompareMessage, CompareOptions } from './compare-worker.ts';

/**
 * `not_found`: a scan has no stored export (any more). `not_comparable`: an export is too large, or of another version.
 * `unavailable`: the object store is down; a retry may succeed.
 */
export type StoredComparison = ComparedReports | { ok: false; reason: 'not_found' | 'not_comparable' | 'unavailable' };

export type ReportComparer = ReturnType<typeof createReportComparer>;

export interface ReportComparerDeps {
  reports: ReportReader;
  /** The limits for verification, which needs more memory than a comparison. */
  bounds: { exportMaxBytes: number; memoryMib: number };
  /** Held while a large export is read. The caller shares it with other readers of large exports. */
  largeExports: Semaphore;
  /** The maximum numbers of new and of fixed root causes that a result lists. Default: none. */
  causesMax?: number;
  logger: Logger;
}

/** The time limit for reading an export, in milliseconds. */
const READ_TIMEOUT_MS = 60_000;
/** The pause between two large comparisons, so that a large export that waits for its verification comes first, in milliseconds. */
const AFTER_LARGE_MS = 1_000;

class StoreUnavailable extends Error {}
type Refusal = Extract<StoredComparison, { ok: false }>;
const no = (reason: Refusal['reason']): Refusal => ({ ok: false, reason });

export function createReportComparer({ reports, bounds, largeExports, causesMax = 0, logger }: ReportComparerDeps) {
  const fromStore = <T>(request: Promise<T>, signal: AbortSignal): Promise<T> =>
    request.catch((cause: unknown) => {
      signal.throwIfAborted();
      throw new StoreUnavailable('the object store is unavailable', { cause });
    });

  /** One comparison at a time: each needs a thread and its memory. */
  const turns = createSemaphore(ONE_AT_A_TIME);

  async function compare(scanIds: readonly [string, string], signal: AbortSignal): Promise<StoredComparison> {
    const keys = scanIds.map((scanId) => reportKeys(scanId).export);
    const sizes = await fromStore(Promise.all(keys.map((key) => reports.size(key))), signal);
    if (sizes.includes(null)) return no('not_found');
    const largest = Math.max(...sizes.map((size) => size ?? 0));
    if (largest > bounds.exportMaxBytes) return no('not_comparable');
    const isLarge = largest > LARGE_EXPORT_BYTES;
    const turn = await turns.acquire('', signal);
    try {
      if (!isLarge) return await inThread(keys, smallMemoryMib(bounds.memoryMib), signal);
      const large = await largeExports.acquire('', signal);
      try {
        return await inThread(keys, bounds.memoryMib, signal);
      } finally {
        large.release();
      }
    } finally {
      if (isLarge) setTimeout(turn.release, AFTER_LARGE_MS).unref();
      else turn.release();
    }
  }

  /** Reads one export after the other, so that only one of them is in memory. */
  async function inThread(keys: readonly string[], memoryMib: number, signal: AbortSignal): Promise<StoredComparison> {
    const thread = startThread(new URL('./compare-worker.ts', import.meta.url), memoryMib, {
      causesMax,
    } satisfies CompareOptions);
    try {
      for (const key of keys) {
        const read = await fromStore(
          reports.read(key, bounds.exportMaxBytes, AbortSignal.any([signal, AbortSignal.timeout(READ_TIMEOUT_MS)])),
          signal,
        );
        if (!read.ok) return no(read.reason === 'missing' ? 'not_found' : 'not_comparable');
        const message = await answerOf(thread, read.bytes, signal);
        if (message !== null) return message;
      }
      throw new Error('the comparison thread expects a third export');
    } finally {
      await thread.terminate();
    }
  }

  return {
    /** @throws the signal's reason if it aborts; other errors if the thread does not start */
    async compareStored(beforeScanId: string, afterScanId: string, signal: AbortSignal): Promise<StoredComparison> {
      try {
        return await compare([beforeScanId, afterScanId], signal);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        logger.warn({ scan: afterScanId, err: error.cause }, 'reports not compared: the object store is unavailable');
        return no('unavailable');
      }
    },
  };
}

/** Sends an export to the thread. The bytes are moved, so they are not usable afterwards. */
function answerOf(thread: Worker, bytes: Uint8Array, signal: AbortSignal): Promise<CompareMessage> {
  const answer = nextMessage<CompareMessage>(thread, { signal });
  const exact = bytes.byteOffset === 0 && bytes.byteLength === bytes.buffer.byteLength;
  thread.postMessage(bytes, exact ? [bytes.buffer as ArrayBuffer] : []);
  return answer.catch((error: unknown) => {
    if (error instanceof InputRefused) return no('not_comparable') as CompareMessage;
    throw error;
  });
}
