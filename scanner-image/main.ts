/** The scanner pod's process: reads what to scan, scans it, stores the results, says how it ended, and exits. */
import { writeFileSync } from 'node:fs';
import { pino } from 'pino';
import { readConfiguration } from '../platform/configuration.ts';
import { openTracer } from '../platform/open-tracer.ts';
import { POD_MESSAGE_MAX_BYTES, type PodFailed, type PodStored } from '../core/protocol/pod-messages.ts';
import { inSpan } from '../platform/tracing.ts';
import { ScannerConfiguration, readPodInput } from './config.ts';
import { openMessages } from './messages.ts';
import { runPod } from './pod.ts';
import { renderPdf } from './report/pdf/render.ts';
import { CURBCUT_VERSION } from './scan.ts';
import { readSignIn } from './sign-in.ts';

/** A failure that may pass: the Job tries again. */
const EXIT_TRY_AGAIN = 1;
/** Ended from outside, as shells tell it; tried again too. */
const EXIT_TERMINATED = 143;

async function main(): Promise<number> {
  const configuration = readConfiguration(ScannerConfiguration, process.env);
  const log = pino({ level: configuration.LOG_LEVEL }, pino.destination({ sync: true }));
  const terminated = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => terminated.abort(new Error(`ended by ${signal}`)));

  const input = await readPodInput(configuration.SCAN_INPUT);
  const signIn = await readSignIn(configuration.SCAN_AUTH);
  const scanLog = log.child({ scan: input.scanId, requestId: input.requestId, attempt: configuration.POD_NAME });
  const tracer = await openTracer({
    endpoint: input.tracing?.endpoint,
    service: 'curbcut-scanner',
    version: CURBCUT_VERSION,
    logger: scanLog,
  });
  const span = tracer.start('scan', {
    parent: input.tracing?.traceparent,
    attributes: { 'curbcut.scan_id': input.scanId, 'curbcut.attempt': configuration.POD_NAME },
  });
  const messages = openMessages(input, configuration.POD_NAME, scanLog);
  try {
    const { message, exitCode } = await runPod(input, {
      attempt: configuration.POD_NAME,
      machine: {
        chromiumPath: configuration.CHROMIUM_PATH,
        path: configuration.PATH,
        home: configuration.HOME,
        root: process.getuid?.() === 0,
      },
      messages,
      signIn,
      log: scanLog,
      traced: (name, work) => inSpan(tracer, name, { parent: span.traceparent }, work),
      renderPdf,
      signal: terminated.signal,
    });
    leaveWord(configuration.TERMINATION_LOG, message);
    span.end(message.kind === 'failed' ? { error: message.reason } : {});
    await Promise.all([messages.end(message), tracer.close()]);
    return exitCode;
  } catch (error) {
    scanLog.error({ err: error }, terminated.signal.aborted ? 'the scan was ended from outside' : 'the scan broke; it may be tried again');
    span.end({ error: error instanceof Error ? error.message : String(error) });
    await Promise.all([messages.end(null), tracer.close()]);
    return terminated.signal.aborted ? EXIT_TERMINATED : EXIT_TRY_AGAIN;
  }
}

/** Writes the last message where the kubelet finds it. Its loss is no failure: the message on the bus says the same. */
function leaveWord(file: string, message: PodStored | PodFailed): void {
  try {
    writeFileSync(file, Buffer.from(JSON.stringify(message)).subarray(0, POD_MESSAGE_MAX_BYTES));
  } catch (error) {
    console.error(`The termination message could not be written to ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = EXIT_TRY_AGAIN;
}
process.exit();
