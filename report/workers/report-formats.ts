/**
 * The formats for other tools as objects beside the export. Each is made when it is first asked for, in a worker thread with
 * limited memory, and then kept as long as the export.
 */
import { PICTURES_MAX_BYTES } from '../../core/protocol/pod-messages.ts';
import { hasPictures, type ReportFormat, reportKeys, type ReportReader } from '../schema/objects.ts';
import { CONVERTED_MAX_BYTES, exportMemoryMib, LARGE_EXPORT_BYTES } from '../schema/export-size.ts';
import { createSemaphore, TooBusy, type SemaphoreLimit } from '../../platform/concurrency/semaphore.ts';
import { InputRefused, nextMessage, startThread } from '../../platform/concurrency/worker-threads.ts';
import type { ConvertInput, ConvertMessage } from './convert-worker.ts';

/**
 * `not_found`: the scan has no stored export (any more). `too_large`: the export needs more memory than this process has.
 * `other_version`: another version made it, and this one cannot convert it. `busy`: too many conversions of the organisation
 * (`key`), or of all, are pending; a retry may succeed.
 */
export type StoredFormat =
  { ok: true; key: string } | { ok: false; reason: NoFormat } | { ok: false; reason: 'busy'; limit: SemaphoreLimit };
type NoFormat = 'not_found' | 'too_large' | 'other_version';

/** The object store, in which formats are kept. */
export interface FormatStore extends ReportReader {
  /** Stores a format that was made from a scan's export. Idempotent. */
  writeFormat(scanId: string, format: ReportFormat, bytes: Uint8Array, signal?: AbortSignal): Promise<void>;
  /** Deletes objects. Idempotent. */
  remove(keys: readonly string[]): Promise<void>;
}

interface ScanOfReport {
  id: string;
  organisation: string;
}

export type ReportFormats = ReturnType<typeof createReportFormats>;

/** The time limit of a conversion with its wait for others, in milliseconds. */
const TIMEOUT_MS = 30_000;
/**
 * Conversions of this replica. One runs at a time, because each needs a thread and its memory. If more were pending, callers would
 * wait for too long.
 */
export const CONVERSION_LIMITS = { held: { total: 1, perKey: 1 }, pending: { total: 8, perKey: 2 } } as const;

const no = (reason: NoFormat): StoredFormat => ({ ok: false, reason });

/** Converts exports up to a size: larger ones would need more memory than a process has that serves requests. */
export function createReportFormats(reports: FormatStore, timeoutMs = TIMEOUT_MS) {
  /** By key, so that several requests for one format share its conversion. */
  const pending = new Map<string, Promise<StoredFormat>>();
  const turns = createSemaphore(CONVERSION_LIMITS);

  async function convert({ id: scanId, organisation }: ScanOfReport, format: ReportFormat): Promise<StoredFormat> {
    const key = reportKeys(scanId)[format];
    const signal = AbortSignal.timeout(timeoutMs);
    const inTurn = async (): Promise<StoredFormat> => {
      const from = reportKeys(scanId).export;
      const read = await reports.read(from, CONVERTED_MAX_BYTES, signal);
      if (!read.ok) return no(read.reason === 'missing' ? 'not_found' : 'too_large');
      const pictures = hasPictures(format) ? await reports.read(reportKeys(scanId).pictures, PICTURES_MAX_BYTES, signal) : null;
      const made = await inThread({ export: read.bytes, format, pictures: pictures?.ok ? pictures.bytes : null }, signal);
      if (typeof made === 'string') return no(made);
      await reports.writeFormat(scanId, format, made, signal);
      if ((await reports.size(from)) !== null) return { ok: true, key };
      // The report was removed in the meantime. If this process ends before it looks, the sweeper removes the format later.
      await reports.remove([key]);
      return no('not_found');
    };
    try {
      return await turns.run(organisation, inTurn, signal);
    } catch (error) {
      if (error instanceof TooBusy) return { ok: false, reason: 'busy', limit: error.limit };
      throw error;
    }
  }

  return {
    /** Makes a format of a scan's export, unless it is stored already. @throws if the object store is unavailable */
    async ensure(scan: ScanOfReport, format: ReportFormat): Promise<StoredFormat> {
      const key = reportKeys(scan.id)[format];
      if ((await reports.size(key)) !== null) return { ok: true, key };
      let converting = pending.get(key);
      if (converting === undefined) {
        converting = convert(scan, format).finally(() => pending.delete(key));
        pending.set(key, converting);
      }
      return converting;
    },
  };
}

/** @throws the signal's reason if it aborts; the thread's error if an export of this version cannot be converted */
async function inThread(input: ConvertInput, signal: AbortSignal): Promise<ConvertMessage> {
  const memoryMib = exportMemoryMib(LARGE_EXPORT_BYTES / 1024 / 1024);
  const thread = startThread(new URL('./convert-worker.ts', import.meta.url), memoryMib, input);
  try {
    return await nextMessage<ConvertMessage>(thread, { signal });
  } catch (error) {
    if (error instanceof InputRefused && error.reason === 'ERR_WORKER_OUT_OF_MEMORY') return 'too_large';
    throw error;
  } finally {
    await thread.terminate();
  }
}
