/** The work of a scanner pod, from its input to its last message: scan, aggregate, generate, store. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from '../../platform/logger.ts';
import {
  EXIT_PERMANENT,
  PDF_MAX_BYTES,
  PICTURES_TYPE,
  type PodFailed,
  type PodIdentity,
  type PodInput,
  type PodStored,
  uploadSlotOf,
} from '../../core/protocol/pod-messages.ts';
import type { PageProgress } from '../../core/scan/counts.ts';
import { countPages } from '../../report/results/score.ts';
import type { Report } from '../../report/schema/report.ts';
import type { Machine } from '../page/browser/chromium.ts';
import { buildReport, fitReport, type FittedReport } from '../../report/results/build.ts';
import { type ChosenBaseline, readBaseline } from '../../report/diff/baseline.ts';
import { CURBCUT_VERSION } from '../../platform/version.ts';
import { UNTRACED, type Traced } from '../crawl/crawl.ts';
import { runScan, type ScanOutput } from '../scan.ts';
import type { ReadSignIn } from '../page/session/sign-in.ts';
import type { PdfOptions } from '../../report/pdf/render.ts';
import { picturesOf } from '../../report/results/pictures.ts';
import { download, upload, type UploadOptions } from './object-store.ts';
import { ScanFailed } from './failure.ts';
import type { Messages } from './messages.ts';

export interface PodDeps {
  identity: PodIdentity;
  machine: Machine;
  messages: Messages;
  /** Reads the sign-in from the scan's Secret; null if the scan does not sign in. */
  readSignIn: () => Promise<ReadSignIn | null>;
  log: Logger;
  /** Runs a step in a span of its name. */
  traced?: Traced;
  renderPdf: StoreDeps['renderPdf'];
  /** Called while the browser starts and the process has nothing to do. */
  onBrowserStarting?: () => void;
  /** Aborts the work immediately; `runPod` then throws the signal's reason. */
  signal: AbortSignal;
  /** Ends the tests: the pages that were tested until then are stored. Without any, `runPod` throws the signal's reason. */
  stop: AbortSignal;
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
  const { identity, messages, log, traced = UNTRACED } = deps;
  const uploads = uploadSlotOf(input.uploads, identity);
  if (uploads === undefined) throw new Error(`The input has no upload links for shard ${identity.shard}.`);
  let known = { scanned: 0, failed: 0, total: 0 };
  let closed: ScanOutput['closed'] | undefined;
  const deadline = timeoutAt(input.deadline);
  const uploadDeadline = timeoutAt(input.uploadDeadline);
  try {
    const baseline = await baselineOf(input, deps, deadline);
    const signIn = await deps.readSignIn();
    if (signIn !== null && !signIn.ok) throw new ScanFailed('sign_in_failed', signIn.reason);
    const found = await traced('crawl', () =>
      runScan(input, {
        machine: deps.machine,
        log,
        traced,
        signIn: signIn?.signIn ?? null,
        signal: AbortSignal.any([deps.signal, deadline]),
        stop: deps.stop,
        onProgress(phase, counts) {
          known = counts;
          messages.progress(phase, counts);
        },
        onBrowserStarting: deps.onBrowserStarting,
      }),
    );
    closed = found.closed;
    known = countPages(found.pages);
    messages.progress('aggregating', known);
    // Lets the browser exit, and free its memory, while the report is made.
    await nextTurn();
    const signal = AbortSignal.any([deps.signal, uploadDeadline]);
    return { message: await storeReport(input, deps, { found, baseline, known }, { uploads, signal }), exitCode: 0 };
  } catch (error) {
    if (!(error instanceof ScanFailed) && (deps.signal.aborted || !deadline.aborted)) throw error;
    const { reason, message, pages } = error instanceof ScanFailed ? error : deadlineExceeded(known, uploadDeadline.aborted);
    log.warn({ reason, pages }, message);
    const failed = { kind: 'failed', scanId: input.scanId, ...identity, reason, message: message.slice(0, 1000), pages } as const;
    return { message: failed, exitCode: EXIT_PERMANENT };
  } finally {
    await closed;
  }
}

/** Reads the baseline before the browser starts, because parsing an export needs much memory. */
async function baselineOf(
  { baseline, exportMaxBytes: maxBytes }: PodInput,
  { log, signal, stop }: PodDeps,
  deadline: AbortSignal,
): Promise<ChosenBaseline | undefined> {
  if (baseline === undefined) return undefined;
  const until = AbortSignal.any([signal, deadline, stop]);
  const onFailure = (attempt: number, message: string): void =>
    log.warn({ attempt, detail: message }, 'reading the baseline failed; retrying');
  if (baseline.export === undefined) return readBaseline(baseline, null);
  const read = await download(baseline.export, { maxBytes, signal: until, onFailure }).catch((error: unknown) => {
    if (signal.aborted || stop.aborted || !deadline.aborted) throw error;
    throw new ScanFailed('deadline_exceeded', 'The object store did not return the report of the baseline before the deadline.');
  });
  return readBaseline(baseline, read);
}

/** What the report of a scan is made of. */
interface Tested {
  found: ScanOutput;
  baseline: ChosenBaseline | undefined;
  known: PageProgress;
}

/** Makes the report of a scan, and stores it until `signal` aborts. @throws ScanFailed if it is too large */
async function storeReport(
  input: PodInput,
  deps: PodDeps,
  { found, baseline, known }: Tested,
  store: Pick<StoreDeps, 'uploads' | 'signal'>,
): Promise<PodStored> {
  const { identity, messages, log, traced = UNTRACED, signal: terminated } = deps;
  const renderPdf: StoreDeps['renderPdf'] = (made, options) => deps.renderPdf(made, { ...options, organisation: input.organisation });
  const { partial, startedAt } = found;
  const fitted = fitReport((pages) => buildReport({ ...found, input, pages, baseline }), found, input.exportMaxBytes);
  if (fitted === null) throw tooLarge('export', input.exportMaxBytes, known);
  const { report } = fitted;
  const message = await storeResults(
    fitted,
    { scanId: input.scanId, ...identity, pages: known, version: CURBCUT_VERSION },
    { ...store, renderPdf, traced, log, terminated, onGenerating: () => messages.progress('generating', known) },
  );
  const ms = Date.now() - startedAt.getTime();
  log.info({ pages: known, partial, score: report.score.value, violations: report.counts.total, ms }, 'scan stored');
  return message;
}

function timeoutAt(time: string): AbortSignal {
  return AbortSignal.timeout(Math.max(0, new Date(time).getTime() - Date.now()));
}

/** @param tested whether only the object store prevented the end of the scan */
function deadlineExceeded(pages: ScanFailed['pages'], tested: boolean): ScanFailed {
  const message = tested
    ? 'The pages were tested, but the object store did not accept the results before the deadline.'
    : 'The scan reached its deadline before its results were stored. Scan fewer pages, or increase the deadline.';
  return new ScanFailed('deadline_exceeded', message, pages);
}

/** Stores the results of a scan: the export, the PDF, and last the statement that both are complete. */
export interface StoreDeps {
  uploads: Pick<PodInput['uploads'][number], 'export' | 'pdf' | 'pictures' | 'result'>;
  renderPdf: (report: Report, options: PdfOptions) => Promise<Uint8Array>;
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
function tooLarge(what: 'export' | 'PDF', limit: number, pages: PageProgress): ScanFailed {
  const message = `The ${what} of this scan is larger than the limit of ${limit.toLocaleString('en')} bytes. Scan fewer pages.`;
  return new ScanFailed('report_too_large', message, pages);
}
