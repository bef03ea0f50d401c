/** The process of the scanner pod: reads its input, runs the scan, stores the results, reports the outcome, and exits. */
import { writeFileSync } from 'node:fs';
import { trustAuthorities } from '../platform/authorities.ts';
import { readConfiguration } from '../platform/configuration.ts';
import { openTracer } from '../platform/open-tracer.ts';
import { useProxy } from '../platform/outbound-proxy.ts';
import { openLogger } from '../platform/process-logger.ts';
import { POD_MESSAGE_MAX_BYTES, podIdentity, type PodFailed, type PodStored } from '../core/protocol/pod-messages.ts';
import { errorMessage } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import { inSpan } from '../platform/tracing.ts';
import { ScannerConfiguration, readPodInput } from './config.ts';
import { openMessages } from './pod/messages.ts';
import { runPod, type PodDeps } from './pod/pod.ts';
import { helpScan } from './scan.ts';
import { download } from './pod/object-store.ts';
import { CURBCUT_VERSION } from '../platform/version.ts';
import { readSignIn } from './page/session/sign-in.ts';

/** Loads the modules of the PDF. They would delay the start of the browser. */
const loadPdf = async (): Promise<PodDeps['renderPdf']> => (await import('../report/pdf/render.ts')).renderPdf;

/** A failure that may be transient: the Job retries. */
const EXIT_RETRY = 1;
/** The shells' exit code for SIGTERM. The Job retries. */
const EXIT_TERMINATED = 143;

async function main(): Promise<number> {
  const configuration = readConfiguration(ScannerConfiguration, process.env);
  const log = openLogger({ level: configuration.LOG_LEVEL, sync: true });
  // The operator stops the pod of a canceled scan, and nodes are drained: both send the same signal. Only of a canceled scan is a report
  // made of the pages so far; of every other, the Job starts another pod.
  const [ended, stopped] = [new AbortController(), new AbortController()];
  let wasCanceled = (): Promise<boolean> => Promise.resolve(false);
  async function terminate(signal: string): Promise<void> {
    if (await wasCanceled()) stopped.abort(new Error('the scan was canceled'));
    else ended.abort(new Error(`received ${signal}`));
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void terminate(signal));

  const input = await readPodInput(configuration.SCAN_INPUT);
  if (input.proxy !== undefined) useProxy(input.proxy);
  if (input.privateCa !== undefined) trustAuthorities(input.privateCa);
  const identity = podIdentity(configuration);
  const scanLog = log.child({ scan: input.scanId, request: input.requestId, ...identity });
  wasCanceled = () => hasCancelMark(input.cancelMark, scanLog);
  const tracer = await openTracer({
    endpoint: input.tracing?.endpoint,
    service: 'curbcut-scanner',
    version: CURBCUT_VERSION,
    logger: scanLog,
  });
  const span = tracer.start('scan', {
    parent: input.tracing?.traceparent,
    attributes: { 'curbcut.scan_id': input.scanId, 'curbcut.attempt': identity.attempt },
  });
  const machine = {
    chromiumPath: configuration.CHROMIUM_PATH,
    path: configuration.PATH,
    home: configuration.HOME,
    root: process.getuid?.() === 0,
  };
  const messages = openMessages(input, identity, scanLog);
  try {
    if (input.team !== undefined && input.team.index > 0) {
      await helpScan(input, input.team, { machine, log: scanLog, signal: AbortSignal.any([ended.signal, stopped.signal]) });
      return 0;
    }
    const { message, exitCode } = await runPod(input, {
      identity,
      machine,
      messages,
      readSignIn: () => readSignIn(configuration.SCAN_AUTH, input.signIn, new URL(input.options.url)),
      log: scanLog,
      traced: (name, work) => inSpan(tracer, name, { parent: span.traceparent }, work),
      renderPdf: async (report, options) => (await loadPdf())(report, options),
      // If that fails, the report reports it.
      onBrowserStarting: () => void loadPdf().catch(() => undefined),
      signal: ended.signal,
      stop: stopped.signal,
    });
    writeTerminationMessage(configuration.TERMINATION_LOG, message);
    span.end(message.kind === 'failed' ? { error: message.reason } : {});
    await Promise.all([messages.end(message), tracer.close()]);
    return exitCode;
  } catch (error) {
    const isTerminated = ended.signal.aborted || stopped.signal.aborted;
    scanLog.error({ err: error }, isTerminated ? 'scan terminated by a signal' : 'scan failed; the Job retries it');
    span.end({ error: errorMessage(error) });
    await Promise.all([messages.end(null), tracer.close()]);
    return isTerminated ? EXIT_TERMINATED : EXIT_RETRY;
  }
}

/** How long the object store may take to say whether the scan was canceled, in milliseconds. */
const ASK_MS = 5_000;
/** The object that says so is empty, or nearly. Whatever it holds, it exists. */
const MARK_MAX_BYTES = 64;

/** Asks the object store whether the scan was canceled. No answer means that it was not: the next pod does the work again. */
async function hasCancelMark(link: string | undefined, log: Logger): Promise<boolean> {
  if (link === undefined) return false;
  try {
    const mark = await download(link, { maxBytes: MARK_MAX_BYTES, signal: AbortSignal.timeout(ASK_MS) });
    return mark.ok || mark.reason === 'too_large';
  } catch (error) {
    log.warn({ detail: errorMessage(error) }, 'asking whether the scan was canceled failed');
    return false;
  }
}

/** Writes the termination message for the kubelet. A failure is only logged, because the message bus transports the same message. */
function writeTerminationMessage(file: string, message: PodStored | PodFailed): void {
  try {
    writeFileSync(file, Buffer.from(JSON.stringify(message)).subarray(0, POD_MESSAGE_MAX_BYTES));
  } catch (error) {
    console.error(`writing the termination message to ${file} failed: ${errorMessage(error)}`);
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(errorMessage(error));
  process.exitCode = EXIT_RETRY;
}
process.exit();
