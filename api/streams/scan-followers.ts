/**
 * Follows scans for event streams. All streams of one scan share one follower: one subscription of the message bus, and one
 * loop that reads the row.
 */
import { isTerminal } from '../../core/scan/phases.ts';
import type { MessageBus } from '../../stores/nats.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';

/** Intervals in milliseconds. */
export interface FollowerTimings {
  /** Between two reads of the row if no message arrives. */
  pollMs: number;
  /** The same while the bus is disconnected. */
  pollWithoutBusMs: number;
}

/** One stream's part in a follower. */
export interface Following {
  /** The newest row that was read: undefined before the first read, null if the scan does not exist or was deleted. */
  readonly row: ScanRow | null | undefined;
  /** Reads the row, at least as it is now. Calls at the same time share reads. @throws what the read throws */
  refresh(): Promise<ScanRow | null>;
  /** Ends the follower if no other stream uses it. */
  leave(): void;
}

export interface FollowerDeps {
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
export type Followers = ReturnType<typeof createFollowers>;

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
