/**
 * Streams one scan as server-sent events. Events are made from the stored row only; bus messages just trigger a read of the
 * row. Therefore any replica can serve any stream, a bus outage loses no event, and events are never out of order.
 */
import { scoreAndCounts, type CompleteEvent } from '../../core/scan/result.ts';
import { isTerminal, type TerminalPhase } from '../../core/scan/phases.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import type { Followers, FollowerTimings } from './scan-followers.ts';

/** Intervals in milliseconds. */
export interface StreamTimings extends FollowerTimings {
  /** Between two keepalive comments. */
  keepaliveMs: number;
  /** Between two checks of the keys of open streams. */
  checkMs: number;
}

export const STREAM_TIMINGS: StreamTimings = { keepaliveMs: 15_000, pollMs: 5_000, pollWithoutBusMs: 1_000, checkMs: 3_000 };

const KEEPALIVE = ': keepalive\n\n';

export interface StreamOptions {
  followers: Followers;
  organisation: string;
  scanId: string;
  /** The last event that the client received. Events up to it are not sent again, except `complete`. */
  lastEventId: number | null;
  keepaliveMs: number;
  /** Ends the stream. */
  signal: AbortSignal;
}

/** An open stream: the row was read, and every later change wakes the stream. */
export interface OpenStream {
  /** Null if the scan does not exist. */
  row: ScanRow | null;
  /**
   * Yields the text of the stream until the scan ends or the signal aborts. States that change while the reader is slow are
   * skipped: only the newest is kept.
   */
  text(): AsyncGenerator<string>;
  /** Leaves the follower. Call it if `text` is not iterated. */
  close(): void;
}

/** @throws what the first read throws */
export async function openStream(options: StreamOptions): Promise<OpenStream> {
  const { followers, organisation, scanId, signal } = options;
  const wakeup = createWakeup();
  const following = followers.follow(organisation, scanId, wakeup.wake);
  signal.addEventListener('abort', wakeup.wake, { once: true });
  const close = (): void => {
    following.leave();
    signal.removeEventListener('abort', wakeup.wake);
    wakeup.wake();
  };
  try {
    const row = await following.refresh();
    return { row, text: () => streamText(options, () => following.row ?? null, wakeup, close), close };
  } catch (error) {
    close();
    throw error;
  }
}

async function* streamText(
  { lastEventId, signal, keepaliveMs }: StreamOptions,
  newest: () => ScanRow | null,
  wakeup: Wakeup,
  close: () => void,
): AsyncGenerator<string> {
  const keepalive = createTicker(keepaliveMs, wakeup.wake);
  let sent = lastEventId ?? -1;
  try {
    const first = newest();
    // A resuming client may have no event to receive yet. A comment makes Node send the response headers now.
    if (first !== null && first.version <= sent && !isTerminal(first.phase)) yield KEEPALIVE;
    while (!signal.aborted) {
      const row = newest();
      if (row === null) return;
      if (isTerminal(row.phase)) {
        yield eventText(row);
        return;
      }
      if (row.version > sent) {
        sent = row.version;
        yield eventText(row);
      }
      await wakeup.wait();
      if (keepalive.due()) yield KEEPALIVE;
    }
  } finally {
    keepalive.stop();
    close();
  }
}

/** One event of the stream: `complete` if the scan has ended, else `progress`. */
export function eventText(row: ScanRow): string {
  const { phase } = row;
  const event = isTerminal(phase) ? completeEvent(row, phase) : progressEvent(row);
  return `id: ${row.version}\ndata: ${JSON.stringify(event)}\n\n`;
}

export function progressEvent(row: ScanRow) {
  return {
    event: 'progress' as const,
    status: row.phase,
    scan_id: row.id,
    pages_scanned: row.pages.scanned,
    pages_total: row.pages.total,
  };
}

export function completeEvent(row: ScanRow, status: TerminalPhase): CompleteEvent {
  return {
    event: 'complete',
    scan_id: row.id,
    status,
    ...scoreAndCounts(row.outcome),
    passed: row.passed,
    message: row.message,
  };
}

/** Parses `Last-Event-ID` as a row version. Returns null if the header is absent or was not sent by this service. */
export function lastEventIdOf(header: unknown): number | null {
  return typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : null;
}

function createWakeup() {
  let woken = false;
  let endWait: (() => void) | null = null;
  return {
    /** Ends the current wait, or the next one if nothing is waiting. */
    wake: (): void => {
      woken = true;
      endWait?.();
    },
    /** Waits for `wake`. */
    wait: async (): Promise<void> => {
      if (!woken) await new Promise<void>((resolve) => (endWait = resolve));
      endWait = null;
      woken = false;
    },
  };
}
type Wakeup = ReturnType<typeof createWakeup>;

/** Calls `onTick` every `ms` milliseconds. `due` returns whether it ticked since the last call of `due`. */
function createTicker(ms: number, onTick: () => void) {
  let ticked = false;
  const timer = setInterval(() => {
    ticked = true;
    onTick();
  }, ms);
  return {
    due: (): boolean => {
      const was = ticked;
      ticked = false;
      return was;
    },
    stop: (): void => clearInterval(timer),
  };
}
