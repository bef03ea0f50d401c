/** Stores the results of a scan: the export, the PDF, and last the statement that both are complete. */
import type { Logger } from '../../platform/logger.ts';
import { PDF_MAX_BYTES, PICTURES_TYPE, type PodInput, type PodStored } from '../../core/protocol/pod-messages.ts';
import { picturesOf, type Pictures } from '../../report/results/pictures.ts';
import type { Report } from '../../report/schema/schema.ts';
import type { PageProgress } from '../../core/scan/counts.ts';
import { ScanFailed } from './failure.ts';
import type { FittedReport } from '../../report/results/fit.ts';
import type { Traced } from '../scan.ts';
import { upload, type UploadOptions } from './upload.ts';

export interface StoreDeps {
  uploads: Pick<PodInput['uploads'][number], 'export' | 'pdf' | 'pictures' | 'result'>;
  renderPdf: (report: Report, options: { pictures: Pictures }) => Promise<Uint8Array>;
  traced: Traced;
  log: Logger;
  /** Ends the retries: at the upload deadline, or because the process must end. */
  signal: AbortSignal;
  /** The process must end. */
  terminated: AbortSignal;
  /** Called when the PDF is rendered, and every ten seconds while uploads are in progress, so that the pod does not seem stuck. */
  onGenerating: () => void;
  /** Calls `run` every `ms` milliseconds until the returned function is called. */
  every?: (ms: number, run: () => void) => () => void;
  put?: typeof upload;
}

const HEARTBEAT_MS = 10_000;

const everyInterval: StoreDeps['every'] = (ms, run) => {
  const timer = setInterval(run, ms);
  return () => clearInterval(timer);
};

/** @returns the pod's last message. @throws ScanFailed if the PDF is too large */
export async function storeResults(
  { report, text, pictures }: FittedReport,
  about: Omit<PodStored, 'kind' | 'export' | 'pdf' | 'pictures'>,
  deps: StoreDeps,
): Promise<PodStored> {
  const { uploads, renderPdf, traced, log, signal, terminated, onGenerating, every = everyInterval!, put = upload } = deps;
  const options = (what: string): UploadOptions => ({
    what,
    signal,
    onFailure: (attempt, error) => log.warn({ attempt, error }, `storing the ${what} failed, retrying`),
  });

  const exporting = traced('upload export', () => put(uploads.export, text, 'application/json', options('export')));
  const picturing =
    pictures.object.byteLength === 0
      ? undefined
      : traced('upload pictures', () => put(uploads.pictures, pictures.object, PICTURES_TYPE, options('pictures')));
  for (const started of [exporting, picturing]) started?.catch(() => undefined); // awaited below; the PDF may fail first
  onGenerating();
  const pdf = new Uint8Array(await traced('report', () => renderPdf(report, { pictures: picturesOf(pictures) })));
  if (pdf.byteLength > PDF_MAX_BYTES) throw tooLarge('PDF', PDF_MAX_BYTES, about.pages);

  // Only now: a heartbeat would hide a report that is never rendered.
  const stopHeartbeat = every(HEARTBEAT_MS, onGenerating);
  try {
    const [exported, pictured, rendered] = await Promise.all([
      exporting,
      picturing,
      traced('upload PDF', () => put(uploads.pdf, pdf, 'application/pdf', options('PDF'))),
    ]);
    const message: PodStored = { kind: 'stored', ...about, export: exported, pdf: rendered, ...(pictured && { pictures: pictured }) };
    // The results are stored and the message still goes to the bus and the kubelet, so a failure is only logged.
    await put(uploads.result, new TextEncoder().encode(JSON.stringify(message)), 'application/json', options('statement')).catch(
      (error: unknown) => {
        terminated.throwIfAborted();
        log.warn({ err: error }, 'storing the statement of the results failed; the last message carries it too');
      },
    );
    return message;
  } finally {
    stopHeartbeat();
  }
}

/** A permanent failure, because another attempt would make the same report. */
export function tooLarge(what: 'export' | 'PDF', limit: number, pages: PageProgress): ScanFailed {
  const message = `The ${what} of this scan is larger than the limit of ${limit.toLocaleString('en')} bytes. Scan fewer pages.`;
  return new ScanFailed('report_too_large', message, pages);
}
