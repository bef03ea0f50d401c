/**
 * What SIGTERM asks for. The operator stops the pod of a canceled scan, and nodes are drained: both send the same signal. Only of a
 * canceled scan is a report made of the pages so far; of every other, the Job starts another pod.
 */
import type { Logger } from '../../platform/logger.ts';
import { errorMessage } from '../../platform/errors.ts';
import { download } from './object-store.ts';

/** How long the object store may take to say whether the scan was canceled, in milliseconds. */
const ASK_MS = 5_000;
/** The object that says so is empty, or nearly. Whatever it holds, it exists. */
const MARK_MAX_BYTES = 64;

export interface Termination {
  /** Aborts when the work must end at once. */
  signal: AbortSignal;
  /** Aborts when the scan was canceled. */
  stop: AbortSignal;
  /** Sets how to find out whether the scan was canceled. Until then, a request ends the work. */
  askBy(wasCanceled: () => Promise<boolean>): void;
  /** Handles a signal of the system. */
  request(name: string): Promise<void>;
}

export function createTermination(): Termination {
  const [ended, stopped] = [new AbortController(), new AbortController()];
  let ask = (): Promise<boolean> => Promise.resolve(false);
  return {
    signal: ended.signal,
    stop: stopped.signal,
    askBy(wasCanceled) {
      ask = wasCanceled;
    },
    async request(name) {
      if (await ask()) stopped.abort(new Error('the scan was canceled'));
      else ended.abort(new Error(`received ${name}`));
    },
  };
}

/** Asks the object store whether the scan was canceled. No answer means that it was not: the next pod does the work again. @param link a presigned GET URL */
export async function wasCanceled(link: string | undefined, log: Logger, askMs: number = ASK_MS): Promise<boolean> {
  if (link === undefined) return false;
  try {
    const mark = await download(link, { maxBytes: MARK_MAX_BYTES, signal: AbortSignal.timeout(askMs) });
    return mark.ok || mark.reason === 'too_large';
  } catch (error) {
    log.warn({ detail: errorMessage(error) }, 'asking whether the scan was canceled failed');
    return false;
  }
}
