/** The positions of waiting scans in their queues, from the order that the operator mirrors to MongoDB. */
import { DEFAULT_QUEUE } from '../../core/protocol/custom-resources.ts';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import { withTimeLimit } from '../../platform/time-limits.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import type { QueueStates } from '../../stores/submissions/queue-state.ts';

export interface QueuePosition {
  name: string;
  /** 1 for the scan that is admitted next; null behind the positions that the operator mirrors. */
  position: number | null;
  waiting: number;
}

/** Returns the position of a waiting scan; undefined if it does not wait, or if nothing is known. Never rejects. */
export type QueuePositions = (row: Pick<ScanRow, 'id' | 'phase' | 'queue'>) => Promise<QueuePosition | undefined>;

export interface QueuePositionDeps {
  queueStates: Pick<QueueStates, 'readLine'>;
  monotonic?: () => number;
  /** How long the order of a queue is used for all polls of this replica, in milliseconds. */
  cacheMs: number;
}

/** The number of queues whose order is cached. Authors of manifests choose the name, also of queues that do not exist. */
const QUEUES_MAX = 100;
/** A poll does not wait longer for a position, in milliseconds. */
const WAIT_MS = 500;

interface Line {
  waiting: number;
  /** The positions of the scans that are admitted next, by scan ID. */
  positions: ReadonlyMap<string, number>;
}

export function createQueuePositions({ queueStates, monotonic, cacheMs }: QueuePositionDeps): QueuePositions {
  const cached = new BoundedMap<Promise<Line | null>>({ max: QUEUES_MAX, monotonic });

  async function read(queue: string): Promise<Line | null> {
    try {
      const line = await withTimeLimit(queueStates.readLine(queue), WAIT_MS, 'reading queue positions');
      return line && { waiting: line.waiting, positions: new Map(line.order.map((id, index) => [id, index + 1])) };
    } catch {
      // A position is a convenience: without it the poll is still answered.
      return null;
    }
  }

  /** A failure is cached too, so that an outage does not cost a query per poll. */
  function lineOf(queue: string): Promise<Line | null> {
    const known = cached.get(queue);
    if (known !== null) return known;
    const line = read(queue);
    cached.set(queue, line, cacheMs);
    return line;
  }

  return async ({ id, phase, queue: name = DEFAULT_QUEUE }) => {
    if (phase !== 'queued') return undefined;
    const line = await lineOf(name);
    if (line === null) return undefined;
    const position = line.positions.get(id);
    if (position !== undefined) return { name, position, waiting: line.waiting };
    // Every waiting scan is listed, so this one was admitted, or submitted a moment ago.
    if (line.positions.size >= line.waiting) return undefined;
    return { name, position: null, waiting: line.waiting };
  };
}
