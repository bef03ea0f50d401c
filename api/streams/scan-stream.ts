/**
 * Streams one scan as server-sent events. Events are made from the stored row only; bus messages just trigger a read of the
 * row. Therefore any replica can serve any stream, a bus outage loses no event, and events are never out of order.
 */
import { type CompleteEvent, scoreAndCounts } from '../../core/scan/result.ts';
import { isTerminal, type TerminalPhase } from '../../core/scan/phases.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import type { MessageBus } from '../../stores/nats.ts';

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
  /** The last event that the client received. Events up to it are not sent again, except the last one of a scan that ends meanwhile. */
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
    message: row.message,
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

/** Parses `Last-Event-ID` as a row version. Returns null if it is absent or was not sent by this service. */
export function lastEventIdOf(sent: unknown): number | null {
  return typeof sent === 'string' && /^\d{1,15}$/.test(sent) ? Number(sent) : null;
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

/*
 * Follows scans for event streams. All streams of one scan share one follower: one subscription of the message bus, and one
 * loop that reads the row.
 */

/** Intervals in milliseconds. */
interface FollowerTimings {
  /** Between two reads of the row if no message arrives. */
  pollMs: number;
  /** The same while the bus is disconnected. */
  pollWithoutBusMs: number;
}

/** One stream's part in a follower. */
interface Following {
  /** The newest row that was read: undefined before the first read, null if the scan does not exist or was deleted. */
  readonly row: ScanRow | null | undefined;
  /** Reads the row, at least as it is now. Calls at the same time share reads. @throws what the read throws */
  refresh(): Promise<ScanRow | null>;
  /** Ends the follower if no other stream uses it. */
  leave(): void;
}

interface FollowerDeps {
  /** Reads the row of a scan; null if the organisation has no such scan. */
  read(scanId: string, organisation: string): Promise<ScanRow | null>;
  bus: Pick<MessageBus, 'connected' | 'followStatus'>;
  timings: FollowerTimings;
}

export function createFollowers(deps: FollowerDeps) {
  const followers = new Map<string, Follower>();
  return {
    /** Follows a scan, and calls `onChange` for each change until `leave`. It subscribes before the first read, so that no change is missed. */
    follow(organisation: string, scanId: string, onChange: () => void): Following {
      const name = `${organisation}/${scanId}`;
      let follower = followers.get(name);
      if (follower === undefined) {
        follower = openFollower(deps, organisation, scanId);
        followers.set(name, follower);
      }
      const { listeners, refresh, close } = follower;
      const current = follower;
      // A function of its own: two streams must not share one entry of the set.
      const listener = (): void => onChange();
      listeners.add(listener);
      return {
        get row() {
          return current.row;
        },
        refresh,
        leave() {
          if (!listeners.delete(listener) || listeners.size > 0) return;
          followers.delete(name);
          close();
        },
      };
    },
  };
}
type Followers = ReturnType<typeof createFollowers>;

function openFollower({ read, bus, timings }: FollowerDeps, organisation: string, scanId: string) {
  const listeners = new Set<() => void>();
  let row: ScanRow | null | undefined;
  let reading: Promise<ScanRow | null> | null = null;
  let next: Promise<ScanRow | null> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  /** Reads the row, tells the streams of a change, and sets the time of the next read. */
  async function readRow(): Promise<ScanRow | null> {
    clearTimeout(timer);
    try {
      const found = await read(scanId, organisation);
      const before = row;
      // Rows of different replicas of the database may arrive out of order.
      if (found === null || before === null || before === undefined || found.version > before.version) row = found;
      if (row !== before) for (const listener of listeners) listener();
      return row ?? null;
    } finally {
      const ended = row === null || (row !== undefined && isTerminal(row.phase));
      if (!closed && !ended) timer = setTimeout(readQuietly, bus.connected ? timings.pollMs : timings.pollWithoutBusMs);
    }
  }

  function refresh(): Promise<ScanRow | null> {
    if (reading === null) {
      reading = readRow().finally(() => (reading = null));
      return reading;
    }
    // The read under way may have taken its row before this call. One more read serves all calls until it starts.
    next ??= reading
      .catch(() => null)
      .then(() => {
        next = null;
        return refresh();
      });
    return next;
  }

  /** After a failed read the streams stay open, and the row is read again later. */
  function readQuietly(): void {
    if (!closed) refresh().catch(() => undefined);
  }

  const unsubscribe = bus.followStatus(organisation, scanId, readQuietly);
  return {
    get row(): ScanRow | null | undefined {
      return row;
    },
    listeners,
    refresh,
    close() {
      closed = true;
      clearTimeout(timer);
      unsubscribe();
    },
  };
}
type Follower = ReturnType<typeof openFollower>;
