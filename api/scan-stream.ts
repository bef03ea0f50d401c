/**
 * Streams one scan as server-sent events. Events are made from the stored row only; bus messages just trigger a read of the
 * row. Therefore any replica can serve any stream, a bus outage loses no event, and events are never out of order.
 */
import { isTerminal } from '../core/scan/phases.ts';
import type { MessageBus } from '../stores/nats.ts';
import type { ScanRow } from '../stores/scans/scans.ts';

/** Intervals in milliseconds. */
export interface StreamTimings {
  /** Between two keepalive comments. */
  keepaliveMs: number;
  /** Between two reads of the row if no message arrives. */
  pollMs: number;
  /** The same while the bus is disconnected. */
  pollWithoutBusMs: number;
}

export const STREAM_TIMINGS: StreamTimings = { keepaliveMs: 15_000, pollMs: 5_000, pollWithoutBusMs: 1_000 };

const KEEPALIVE = ': keepalive\n\n';

export interface StreamOptions {
  /** Reads the row; returns null if it was deleted. During the stream, a rejection is retried at the next read. */
  read(): Promise<ScanRow | null>;
  bus: Pick<MessageBus, 'connected' | 'followStatus'>;
  organisation: string;
  scanId: string;
  /** The last event that the client received. Events up to it are not sent again, except `complete`. */
  lastEventId: number | null;
  timings: StreamTimings;
  /** Ends the stream. */
  signal: AbortSignal;
}

/** An open stream: the row was read, and every later change wakes the stream. */
export interface OpenStream {
  /** Null if the scan does not exist. */
  row: ScanRow | null;
  /** Yields the text of the stream until the scan ends or the signal aborts. */
  text(): AsyncGenerator<string>;
  /** Releases the subscription. Call it if `text` is not iterated. */
  close(): void;
}

/**
 * Opens a stream. It subscribes before the first read, so that no change between the two is missed.
 * @throws what the first read throws
 */
export async function openStream(options: StreamOptions): Promise<OpenStream> {
  const { bus, organisation, scanId, signal } = options;
  const wakeup = createWakeup();
  const unsubscribe = bus.followStatus(organisation, scanId, () => wakeup.wake());
  signal.addEventListener('abort', wakeup.wake, { once: true });
  const close = (): void => {
    unsubscribe();
    wakeup.stop();
    signal.removeEventListener('abort', wakeup.wake);
  };
  try {
    const row = await options.read();
    return { row, text: () => streamText(options, row, wakeup, close), close };
  } catch (error) {
    close();
    throw error;
  }
}

async function* streamText(
  { read, bus, lastEventId, signal, timings }: StreamOptions,
  row: ScanRow | null,
  wakeup: Wakeup,
  close: () => void,
): AsyncGenerator<string> {
  const keepalive = createTicker(timings.keepaliveMs, wakeup.wake);
  let sent = lastEventId ?? -1;
  let latest = row;
  try {
    // A resuming client may have no event to receive yet. A comment makes Node send the response headers now.
    if (latest !== null && latest.version <= sent && !isTerminal(latest.phase)) yield KEEPALIVE;
    while (!signal.aborted) {
      if (latest === null) return;
      if (isTerminal(latest.phase)) {
        yield eventText(latest);
        return;
      }
      if (latest.version > sent) {
        sent = latest.version;
        yield eventText(latest);
      }
      await wakeup.wait(bus.connected ? timings.pollMs : timings.pollWithoutBusMs);
      if (keepalive.due()) yield KEEPALIVE;
      if (signal.aborted) return;
      // After a failed read the stream stays open and reads again after the next wait.
      latest = await read().catch(() => latest);
    }
  } finally {
    keepalive.stop();
    close();
  }
}

/** One event of the stream: `complete` if the scan has ended, else `progress`. */
export function eventText(row: ScanRow): string {
  return `id: ${row.version}\ndata: ${JSON.stringify(isTerminal(row.phase) ? completeEvent(row) : progressEvent(row))}\n\n`;
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

export function completeEvent(row: ScanRow) {
  return { event: 'complete' as const, scan_id: row.id, status: row.phase, ...findings(row), passed: row.passed, message: row.message };
}

/** Score and violation counts under the contract's field names; null until the scan has a result. */
export function findings({ outcome }: Pick<ScanRow, 'outcome'>) {
  return {
    score: outcome?.score ?? null,
    violations_count: outcome?.violations.total ?? null,
    violations_critical: outcome?.violations.critical ?? null,
    violations_serious: outcome?.violations.serious ?? null,
    violations_moderate: outcome?.violations.moderate ?? null,
    violations_minor: outcome?.violations.minor ?? null,
  };
}

/** Parses `Last-Event-ID` as a row version. Returns null if the header is absent or was not sent by this service. */
export function lastEventIdOf(header: unknown): number | null {
  return typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : null;
}

interface Wakeup {
  /** Ends the current wait, or the next one if nothing is waiting. */
  wake(): void;
  /** Waits for `wake`, at most `ms` milliseconds. */
  wait(ms: number): Promise<void>;
  /** Ends the current wait and its timer. */
  stop(): void;
}

function createWakeup(): Wakeup {
  let woken = false;
  let endWait: (() => void) | null = null;
  let timer: NodeJS.Timeout | undefined;
  return {
    wake: (): void => {
      woken = true;
      endWait?.();
    },
    wait: async (ms: number): Promise<void> => {
      if (!woken) {
        await new Promise<void>((resolve) => {
          endWait = resolve;
          timer = setTimeout(resolve, ms);
        });
        clearTimeout(timer);
        endWait = null;
      }
      woken = false;
    },
    stop: (): void => {
      clearTimeout(timer);
      endWait?.();
    },
  };
}

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
