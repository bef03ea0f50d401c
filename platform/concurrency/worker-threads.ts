/** Worker threads with limited memory, which answer messages. */
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';

/** The thread failed on what it was given: it exhausted its memory or its time, or threw an error. It would fail again. */
export class InputRefused extends Error {
  override readonly name = 'InputRefused';
  /** Short, for messages: `ERR_WORKER_OUT_OF_MEMORY`. */
  readonly reason: string;
  constructor(reason: string, options?: ErrorOptions) {
    super(`the worker thread failed on its input: ${reason}`, options);
    this.reason = reason;
  }
}

/**
 * The process's compile cache, as a thread's environment. Without it a thread compiles everything again, which is a third of
 * the work of its start. Node keeps the cache in a folder for its version inside the one that was named.
 */
function compileCache(): Record<string, string> {
  const folder = getCompileCacheDir();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}

/** Starts a thread without access to the process's environment. @param workerData what it is given at its start */
export function startThread(file: URL, memoryMib: number, workerData?: unknown): Worker {
  const thread = new Worker(file, { resourceLimits: { maxOldGenerationSizeMb: memoryMib }, env: compileCache(), workerData });
  // Without a listener, an error of the thread would end the process.
  thread.on('error', () => undefined);
  return thread;
}

/**
 * Waits for the next message of a thread.
 * @throws InputRefused; the signal's reason if it aborts; other errors if the thread does not start or exits: a retry may succeed
 */
export async function nextMessage<T>(
  thread: Pick<Worker, 'once' | 'off'>,
  { signal, timeoutMs = 60_000 }: { signal?: AbortSignal; timeoutMs?: number } = {},
): Promise<T> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const late = setTimeout(() => reject(new InputRefused('it took too long')), timeoutMs);
  const abort = (): void => reject(signal!.reason as Error);
  const failed = (error: Error & { code?: string }): void => {
    const notStarted = error.code?.startsWith('ERR_WORKER_') && error.code !== 'ERR_WORKER_OUT_OF_MEMORY';
    reject(notStarted ? error : new InputRefused(error.code ?? error.message, { cause: error }));
  };
  const exited = (): void => reject(new Error('the worker thread exited without a result'));
  signal?.addEventListener('abort', abort, { once: true });
  thread.once('message', resolve);
  thread.once('error', failed);
  thread.once('exit', exited);
  try {
    return await promise;
  } finally {
    clearTimeout(late);
    signal?.removeEventListener('abort', abort);
    thread.off('message', resolve);
    thread.off('error', failed);
    thread.off('exit', exited);
  }
}
