/**
 * Verifies exports in worker threads, each of which verifies one export. Starting a thread takes about 0.35 s, so while scans
 * run, one is kept ready for exports of the usual size. It needs 60 MiB.
 */
import { Worker } from 'node:worker_threads';
import { LARGE_EXPORT_BYTES, smallMemoryMib } from '../../../core/report/large-exports.ts';
import { systemClock, type Clock } from '../../runtime/clock.ts';
import type { Expectation, ResultObjects } from './verify.ts';
import type { Verified } from './verify-worker.ts';

export interface Verifier {
  /** @throws if the signal aborts, or if the thread does not start; a retry may succeed */
  verify(objects: ResultObjects, expected: Expectation, signal?: AbortSignal): Promise<Verified>;
  /** Allows threads to be started ahead. */
  start(): void;
  /** Starts a thread ahead, because an export is expected soon. Does nothing if there is one. */
  expect(): void;
  /** Ends the thread that was started ahead, and starts no others ahead. */
  stop(): void;
}

/** The part of a worker thread that the verifier uses. */
export type VerifyThread = Pick<Worker, 'once' | 'off' | 'postMessage' | 'terminate' | 'ref' | 'unref'>;

export interface VerifierDeps {
  /** The heap limit for the largest exports, in MiB. It exceeds the need of any `isParseable` text. */
  memoryMib: number;
  clock?: Pick<Clock, 'after'>;
  startThread?: (memoryMib: number) => VerifyThread;
}

/** The time after which a thread that was started ahead and not needed ends, in milliseconds. */
const IDLE_MS = 600_000;
/** The time limit for the verification of an export, in milliseconds. */
const VERIFY_TIMEOUT_MS = 60_000;

function startWorker(memoryMib: number): VerifyThread {
  return new Worker(new URL('./verify-worker.ts', import.meta.url), { resourceLimits: { maxOldGenerationSizeMb: memoryMib }, env: {} });
}

export function createVerifier({ memoryMib, clock = systemClock, startThread = startWorker }: VerifierDeps): Verifier {
  let forgetIdle = () => {};
  let running = false;
  let ready: VerifyThread | null = null;

  function prepare(): void {
    if (!running) return;
    forgetIdle();
    forgetIdle = clock.after(IDLE_MS, end);
    if (ready !== null) return;
    const thread = startThread(smallMemoryMib(memoryMib));
    ready = thread;
    // An idle thread does not keep the process alive.
    thread.unref();
    thread.once('error', drop);
    thread.once('exit', drop);
    function drop(): void {
      if (ready === thread) ready = null;
    }
  }

  function end(): void {
    void ready?.terminate();
    ready = null;
  }

  function take(bytes: number): VerifyThread {
    // Large exports get a thread of their own with the full memory.
    if (bytes > LARGE_EXPORT_BYTES) return startThread(memoryMib);
    const thread = ready ?? startThread(smallMemoryMib(memoryMib));
    ready = null;
    thread.ref();
    return thread;
  }

  return {
    async verify(objects, expected, signal) {
      signal?.throwIfAborted();
      const thread = take(objects.export.byteLength);
      try {
        return await verifyIn(thread, objects, expected, signal);
      } finally {
        // Never used again. Its successor is started only now, so that it does not slow down this verification.
        void thread.terminate();
        prepare();
      }
    },
    start() {
      running = true;
    },
    expect: prepare,
    stop() {
      running = false;
      forgetIdle();
      end();
    },
  };
}

function verifyIn(thread: VerifyThread, objects: ResultObjects, expected: Expectation, signal?: AbortSignal): Promise<Verified> {
  const { promise, resolve, reject } = Promise.withResolvers<Verified>();
  const refuse = (reason: string) => resolve({ judgement: { ok: false, reason }, visits: [], view: null });
  const late = setTimeout(() => refuse('the export takes too long to verify.'), VERIFY_TIMEOUT_MS);
  const abort = () => reject(signal!.reason as Error);
  signal?.addEventListener('abort', abort, { once: true });
  thread.once('message', resolve);
  thread.once('error', (error: Error & { code?: string }) => {
    // The export causes every other error, and would cause it again.
    if (error.code?.startsWith('ERR_WORKER_') && error.code !== 'ERR_WORKER_OUT_OF_MEMORY') return reject(error);
    refuse(`the export cannot be verified (${error.code ?? error.message}).`);
  });
  thread.once('exit', () => reject(new Error('the verification thread exited without a result')));
  thread.postMessage({ objects, expected });
  return promise.finally(() => {
    clearTimeout(late);
    signal?.removeEventListener('abort', abort);
  });
}
