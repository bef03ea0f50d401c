/**
 * Streams one scan as server-sent events. Events are made from the stored row only; bus messages just trigger a read of the
 * row. Therefore any replica can serve any stream, a bus outage loses no event, and events are never out of order.
 */
import type { ServerResponse } from 'node:http';
import { setImmediate as afterArrivals } from 'node:timers/promises';
import { type CompleteEvent, scoreAndCounts } from '../../core/scan/result.ts';
import { isTerminal, type TerminalPhase } from '../../core/scan/phases.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import type { MessageBus } from '../../stores/nats.ts';

/** Intervals in milliseconds. */
export interface StreamTimings extends FollowerTimings {
  /** Between two keepalive comments. A client that has taken nothing for this long, and for the rest of an interval, is disconnected. */
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
  output: Pick<ServerResponse, 'write' | 'end' | 'destroy'>;
}

/**
 * The stream of one client. While the client has not taken an event, none is written: states that change meanwhile are skipped, and
 * only the newest is sent.
 */
export interface ScanStream {
  /** Reads the row, at least as it is now, and follows it from then on. Returns null if there is no such scan. @throws what the read throws */
  read(): Promise<ScanRow | null>;
  /** Sends the state that was read and every later one, until the scan ends. */
  start(): void;
  /** Sends a comment if nothing waits to be sent. Returns false if the same text has waited since the call before. */
  keepAlive(): boolean;
  /** Ends the response. Nothing else is sent. */
  end(): void;
  /** Closes the connection. */
  disconnect(): void;
}

export function createScanStream({ followers, organisation, scanId, lastEventId, output }: StreamOptions): ScanStream {
  let following: Follower | undefined;
  let sent = lastEventId ?? -1;
  let state: 'opening' | 'open' | 'ended' = 'opening';
  let waiting = false;
  let stalled = false;

  function send(): void {
    if (state !== 'open' || waiting) return;
    const { row, text } = following!;
    if (row == null || isTerminal(row.phase)) return finish(text);
    if (row.version <= sent) return;
    sent = row.version;
    write(text);
  }

  function write(text: string): void {
    waiting = true;
    output.write(text, taken);
  }

  function taken(): void {
    waiting = stalled = false;
    send();
  }

  function finish(text: string): void {
    const opened = state === 'open';
    state = 'ended';
    waiting = true;
    if (following !== undefined) followers.leave(following, send);
    if (opened) output.end(text);
  }

  return {
    async read() {
      following = followers.follow(organisation, scanId, send);
      if (state === 'ended') followers.leave(following, send);
      await followers.refresh(following);
      return following.row ?? null;
    },
    start() {
      if (state === 'ended') return void output.end();
      state = 'open';
      send();
      // A resuming client may have no event to receive yet. A comment makes Node send the response headers now.
      if (!waiting) write(KEEPALIVE);
    },
    keepAlive() {
      if (waiting && stalled) return false;
      stalled = waiting;
      if (!waiting && state === 'open') write(KEEPALIVE);
      return true;
    },
    end: () => {
      if (state !== 'ended') finish('');
    },
    disconnect: () => void output.destroy(),
  };
}

/** One event of a stream: `complete` if the scan has ended, else `progress`. */
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

/*
 * Follows scans for event streams. All streams of one scan share one subscription of the message bus, the row that was read, and
 * the text of its event. All scans that changed share one read.
 */

/** Intervals in milliseconds. */
interface FollowerTimings {
  /** Between two reads of all rows if no message arrives. */
  pollMs: number;
  /** The same while the bus is disconnected. */
  pollWithoutBusMs: number;
}

/** A scan that streams follow. */
interface Follower {
  readonly organisation: string;
  readonly scanId: string;
  /** The newest row that was read: undefined before the first read, null if the scan does not exist or was deleted. */
  row: ScanRow | null | undefined;
  /** The event of the row; empty if there is none. */
  text: string;
  readonly listeners: Set<() => void>;
  unsubscribe(): void;
}

interface FollowerDeps {
  /** Reads the rows of scans that have one. */
  read(scanIds: readonly string[]): Promise<ReadonlyMap<string, ScanRow>>;
  bus: Pick<MessageBus, 'connected' | 'followStatus'>;
  timings: FollowerTimings;
}

export function createFollowers({ read, bus, timings }: FollowerDeps) {
  const followers = new Map<string, Follower>();
  const wanted = new Set<Follower>();
  let next: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;

  /** Reads the rows, at least as they are now. One read serves all calls that arrive together. @throws what the read throws */
  function refresh(...some: readonly Follower[]): Promise<void> {
    for (const follower of some) wanted.add(follower);
    next ??= afterArrivals().then(readWanted);
    return next;
  }

  async function readWanted(): Promise<void> {
    const asked = [...wanted];
    wanted.clear();
    next = null;
    const rows = await read(asked.map(({ scanId }) => scanId));
    for (const follower of asked) {
      const row = rows.get(follower.scanId);
      update(follower, row?.organisation === follower.organisation && row.submission !== 'abandoned' ? row : null);
    }
  }

  function update(follower: Follower, row: ScanRow | null): void {
    const { row: before, listeners } = follower;
    // Rows may arrive out of order.
    if (row === before || (row !== null && before != null && row.version <= before.version)) return;
    follower.row = row;
    follower.text = row === null ? '' : eventText(row);
    for (const listener of listeners) listener();
  }

  /** After a failed read the streams stay open, and the rows are read again later. */
  function refreshQuietly(...some: readonly Follower[]): Promise<void> {
    return refresh(...some).catch(() => undefined);
  }

  async function poll(): Promise<void> {
    const live = [...followers.values()].filter(({ row }) => row !== null && !(row !== undefined && isTerminal(row.phase)));
    if (live.length > 0) await refreshQuietly(...live);
    schedule();
  }

  function schedule(): void {
    clearTimeout(timer);
    const ms = bus.connected ? timings.pollMs : timings.pollWithoutBusMs;
    timer = followers.size === 0 ? undefined : setTimeout(() => void poll(), ms);
  }

  return {
    refresh,

    /** Follows a scan, and calls `onChange` for each change until `leave`. It subscribes before the first read, so that no change is missed. */
    follow(organisation: string, scanId: string, onChange: () => void): Follower {
      const name = `${organisation}/${scanId}`;
      let follower = followers.get(name);
      if (follower === undefined) {
        const added: Follower = { organisation, scanId, row: undefined, text: '', listeners: new Set(), unsubscribe: () => undefined };
        added.unsubscribe = bus.followStatus(organisation, scanId, () => void refreshQuietly(added));
        followers.set(name, (follower = added));
        if (followers.size === 1) schedule();
      }
      follower.listeners.add(onChange);
      return follower;
    },

    /** Ends the calls of `onChange`. The last one ends the follower. */
    leave(follower: Follower, onChange: () => void): void {
      const { organisation, scanId, listeners, unsubscribe } = follower;
      if (!listeners.delete(onChange) || listeners.size > 0) return;
      followers.delete(`${organisation}/${scanId}`);
      unsubscribe();
      if (followers.size === 0) schedule();
    },
  };
}
type Followers = ReturnType<typeof createFollowers>;
