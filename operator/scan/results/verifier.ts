/**
 * Verifies exports in worker threads, each of which verifies one export. Starting a thread takes about 0.35 s, so while scans
 * run, one is kept ready for exports of the usual size. It needs 60 MiB.
 */
import type { Worker } from 'node:worker_threads';
import { LARGE_EXPORT_BYTES, smallMemoryMib } from '../../../report/schema/export-size.ts';
import { InputRefused, nextMessage, startThread } from '../../../platform/concurrency/worker-threads.ts';
import { systemClock, type Clock } from '../../../platform/clock.ts';
import type { Expectation, ResultObjects, Verified } from './verify.ts';

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

const startWorker = (memoryMib: number): VerifyThread => startThread(new URL('./verify-worker.ts', import.meta.url), memoryMib);

export function createVerifier({ memoryMib, clock = systemClock, startThread: start = startWorker }: VerifierDeps): Verifier {
  let forgetIdle = () => {};
  let running = false;
  let ready: VerifyThread | null = null;

  function prepare(): void {
    if (!running) return;
    forgetIdle();
    forgetIdle = clock.after(IDLE_MS, end);
    if (ready !== null) return;
    const thread = start(smallMemoryMib(memoryMib));
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
    if (bytes > LARGE_EXPORT_BYTES) return start(memoryMib);
    const thread = ready ?? start(smallMemoryMib(memoryMib));
    ready = null;
    thread.ref();
    return thread;
  }

  return {
    async verify(objects, expected, signal) {
      signal?.throwIfAborted();
      const before = objects.baseline?.ok ? objects.baseline.bytes.byteLength : 0;
      const thread = take(Math.max(objects.export.byteLength, before));
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

async function verifyIn(thread: VerifyThread, objects: ResultObjects, expected: Expectation, signal?: AbortSignal): Promise<Verified> {
  const verified = nextMessage<Verified>(thread, { signal });
  thread.postMessage({ objects, expected });
  return verified.catch((error: unknown) => {
    if (!(error instanceof InputRefused)) throw error;
    return {
      judgement: { ok: false, reason: `the export cannot be verified (${error.reason}).` },
      visits: [],
      view: null,
      unmatchedIssues: [],
      issueExamples: {},
    };
  });
}
