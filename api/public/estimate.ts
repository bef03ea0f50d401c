/** Estimates when the result of a public scan will be there. Every sentence and field that promises a time gets it from here. */
import { ANONYMOUS } from '../../core/organisation.ts';
import { PUBLIC_QUEUE } from '../../core/protocol/custom-resources.ts';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import type { ApiStores } from '../dependencies.ts';

export interface EstimateFacts {
  /** The scans that are admitted before this one. */
  waiting: number;
  maxRunning: number;
  /** How long recent public scans took from their submission to their end, in seconds. */
  recentSeconds: readonly number[];
  /** For how long it has been running. Default: 0. */
  ranSeconds?: number;
}

const LEAST_SECONDS = 10;
const MOST_SECONDS = 3_600;
/** Until the first scan has ended, and while the estimate is unknown. */
export const UNKNOWN_SECONDS = 60;
const STEP_SECONDS = 5;

/** Returns the seconds until a public scan ends. Pure. */
export function estimateSeconds({ waiting, maxRunning, recentSeconds, ranSeconds = 0 }: EstimateFacts): number {
  const sorted = recentSeconds.filter((seconds) => Number.isFinite(seconds) && seconds >= 0).sort((a, b) => a - b);
  // Recent scans may have waited themselves. The fastest quarter shows how long a scan takes once it runs.
  const each = sorted[Math.floor(sorted.length / 4)] ?? UNKNOWN_SECONDS;
  const seconds = each * (1 + Math.max(0, waiting) / Math.max(1, maxRunning)) - ranSeconds;
  return Math.min(MOST_SECONDS, Math.max(LEAST_SECONDS, Math.ceil(seconds / STEP_SECONDS) * STEP_SECONDS));
}

export interface EstimatorDeps {
  queueStates: Pick<ApiStores['queueStates'], 'readLine'>;
  scans: Pick<ApiStores['scans'], 'search'>;
  monotonic?: () => number;
  /** If the operator has not mirrored that of the queue. */
  maxRunning: number;
}

const RECENT_MAX = 20;
const CACHE_MS = 5_000;

/** Where a scan is: how many are before it (null: all that wait), and for how long it has been running. */
export interface Place {
  before: number | null;
  ranSeconds: number;
}

/** Estimates the seconds until the end of a scan; without a place, of one that is submitted now. @throws DependencyDown */
export type Estimate = (place?: Place) => Promise<number>;

const NEW: Place = { before: null, ranSeconds: 0 };

/** Creates an estimator whose facts are at most 5 s old. */
export function createEstimator({ queueStates, scans, monotonic, maxRunning }: EstimatorDeps): Estimate {
  const cached = new BoundedMap<Promise<EstimateFacts>>({ max: 1, monotonic });

  /** Requests at the same time share one read. A failure is not remembered. */
  async function factsOf(queue: string): Promise<EstimateFacts> {
    const known = cached.get(queue);
    if (known !== null) return known;
    const reading = read(queue);
    cached.set(queue, reading, CACHE_MS);
    reading.catch(() => cached.delete(queue));
    return reading;
  }

  async function read(queue: string): Promise<EstimateFacts> {
    const [line, recent] = await Promise.all([
      queueStates.readLine(queue),
      scans.search(ANONYMOUS, { phases: ['done'], limit: RECENT_MAX }),
    ]);
    const recentSeconds = recent.rows.flatMap(({ createdAt, finishedAt }) =>
      finishedAt === null ? [] : [(finishedAt.getTime() - createdAt.getTime()) / 1000],
    );
    return { waiting: line?.waiting ?? 0, maxRunning: line?.maxRunning ?? maxRunning, recentSeconds };
  }

  return async ({ before, ranSeconds } = NEW) => {
    const facts = await factsOf(PUBLIC_QUEUE);
    return estimateSeconds({ ...facts, waiting: before ?? facts.waiting, ranSeconds });
  };
}
