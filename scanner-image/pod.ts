/** The work of a scanner pod, from its input to its last message: scan, aggregate, generate, store. */
import type { Logger } from '../platform/logger.ts';
import {
  EXIT_PERMANENT,
  EXPORT_MAX_BYTES,
  PDF_MAX_BYTES,
  uploadSlotOf,
  type PodFailed,
  type PodIdentity,
  type PodInput,
  type PodStored,
} from '../core/protocol/pod-messages.ts';
import type { Report, ReportPage } from '../core/report/schema.ts';
import type { Machine } from './browser/chromium.ts';
import { ScanFailed } from './failure.ts';
import type { Messages } from './messages.ts';
import { buildReport } from './report/build.ts';
import { runScan, type Traced } from './scan.ts';
import type { SignIn } from './sign-in.ts';
import { upload } from './upload.ts';

export interface PodDeps {
  identity: PodIdentity;
  machine: Machine;
  messages: Messages;
  signIn: SignIn | null;
  log: Logger;
  /** Runs a step in a span of its name. */
  traced?: Traced;
  renderPdf: (report: Report) => Promise<Uint8Array>;
  /** Aborts the work immediately; `runPod` then throws the signal's reason. */
  signal: AbortSignal;
}

export interface PodEnd {
  message: PodStored | PodFailed;
  exitCode: number;
}

/**
 * Runs the scan and stores its results.
 * @returns the last message, and its exit code
 * @throws an error that may be transient, so that the Job retries
 */
export async function runPod(input: PodInput, deps: PodDeps): Promise<PodEnd> {
  const { identity, messages, log, traced = (_step, work) => work() } = deps;
  const uploads = uploadSlotOf(input.uploads, identity);
  if (uploads === undefined) throw new Error(`The input has no upload links for shard ${identity.shard}.`);
  let known = { scanned: 0, failed: 0, total: 0 };
  const deadline = AbortSignal.timeout(Math.max(0, new Date(input.deadline).getTime() - Date.now()));
  const signal = AbortSignal.any([deps.signal, deadline]);
  try {
    const { pages, tools, startedAt, finishedAt } = await traced('crawl', () =>
      runScan(input, {
        machine: deps.machine,
        log,
        traced,
        signIn: deps.signIn,
        signal,
        onProgress(phase, counts) {
          known = counts;
          messages.progress(phase, counts);
        },
        onPage: (page) => logPage(log, page),
      }),
    );
    const scanned = pages.filter(({ tested }) => tested).length;
    known = { scanned, failed: pages.length - scanned, total: pages.length };
    messages.progress('aggregating', known);
    const report = buildReport({ input, pages, tools, startedAt, finishedAt });
    const stored = await storeResults(report, { ...deps, traced }, uploads, signal, () => messages.progress('generating', known));
    log.info(
      { pages: known, score: report.score.value, violations: report.counts.total, ms: Date.now() - startedAt.getTime() },
      'scan stored',
    );
    return { message: { kind: 'stored', scanId: input.scanId, ...identity, pages: known, ...stored }, exitCode: 0 };
  } catch (error) {
    const failed = error instanceof ScanFailed ? error : deadline.aborted && !deps.signal.aborted ? deadlineExceeded(known) : null;
    if (failed === null) throw error;
    log.warn({ reason: failed.reason, pages: failed.pages }, failed.message);
    return {
      message: {
        kind: 'failed',
        scanId: input.scanId,
        ...identity,
        reason: failed.reason,
        message: failed.message.slice(0, 1000),
        pages: failed.pages,
      },
      exitCode: EXIT_PERMANENT,
    };
  }
}

/** Uploads the export while the PDF is rendered, then the PDF. */
async function storeResults(
  report: Report,
  { renderPdf, traced }: Pick<PodDeps, 'renderPdf'> & { traced: Traced },
  uploads: { export: string; pdf: string },
  signal: AbortSignal,
  onGenerating: () => void,
): Promise<Pick<PodStored, 'export' | 'pdf'>> {
  const text = new TextEncoder().encode(JSON.stringify(report));
  refuseTooLarge('export', text, EXPORT_MAX_BYTES);
  const exporting = traced('upload export', () => upload(uploads.export, text, 'application/json', { what: 'export', signal }));
  exporting.catch(() => undefined); // awaited below; the PDF may fail first
  onGenerating();
  const pdf = new Uint8Array(await traced('report', () => renderPdf(report)));
  refuseTooLarge('PDF', pdf, PDF_MAX_BYTES);
  const [exported, rendered] = await Promise.all([
    exporting,
    traced('upload PDF', () => upload(uploads.pdf, pdf, 'application/pdf', { what: 'PDF', signal })),
  ]);
  return { export: exported, pdf: rendered };
}

function refuseTooLarge(what: string, { byteLength }: Uint8Array, limit: number): void {
  if (byteLength > limit) throw new RangeError(`The ${what} has ${byteLength} bytes, more than the limit of ${limit}.`);
}

function deadlineExceeded(pages: ScanFailed['pages']): ScanFailed {
  return new ScanFailed(
    'deadline_exceeded',
    'The scan reached its deadline before its results were stored. Scan fewer pages, or increase the deadline.',
    pages,
  );
}

function logPage(log: Logger, page: ReportPage): void {
  const common = { url: page.url, status: page.http_status, ms: page.duration_ms };
  if (page.tested)
    log.info(
      { ...common, score: page.score, violations: page.violations.reduce((sum, { nodes }) => sum + nodes.length, 0) },
      'page tested',
    );
  else log.info({ ...common, reason: page.reason, detail: page.message }, 'page not tested');
}
