/** Estimates when the result of a public scan will be there. */
import { ANONYMOUS } from '../../core/organisation.ts';
import { PUBLIC_QUEUE } from '../../core/protocol/custom-resources.ts';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import type { ApiStores } from '../dependencies.ts';

export interface EstimateFacts {
  /** The scans that wait in the public queue. */
  waiting: number;
  maxRunning: number;
  /** How long recent public scans took from their submission to their end, in seconds. */
  recentSeconds: readonly number[];
}

const LEAST_SECONDS = 10;
const MOST_SECONDS = 3_600;
/** Until the first scan has ended, and while the estimate is unknown. */
export const UNKNOWN_SECONDS = 60;
const STEP_SECONDS = 5;

/** Returns the seconds until a new public scan ends. Pure. */
export function estimateSeconds({ waiting, maxRunning, recentSeconds }: EstimateFacts): number {
  const sorted = recentSeconds.filter((seconds) => Number.isFinite(seconds) && seconds >= 0).sort((a, b) => a - b);
  // Recent scans may have waited themselves. The fastest quarter shows how long a scan takes once it runs.
  const each = sorted[Math.floor(sorted.length / 4)] ?? UNKNOWN_SECONDS;
  const seconds = each * (1 + Math.max(0, waiting) / Math.max(1, maxRunning));
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

/** Returns a function that estimates for a new scan, from facts that are at most 5 s old. */
export function createEstimator({ queueStates, scans, monotonic, maxRunning }: EstimatorDeps): () => Promise<number> {
  const cached = new BoundedMap<number>({ max: 1, monotonic });
  return async () => {
    const known = cached.get(PUBLIC_QUEUE);
    if (known !== null) return known;
    const [line, recent] = await Promise.all([
      queueStates.readLine(PUBLIC_QUEUE),
      scans.search(ANONYMOUS, { phases: ['done'], limit: RECENT_MAX }),
    ]);
    const recentSeconds = recent.rows.flatMap(({ createdAt, finishedAt }) =>
      finishedAt === null ? [] : [(finishedAt.getTime() - createdAt.getTime()) / 1000],
    );
    const seconds = estimateSeconds({ waiting: line?.waiting ?? 0, maxRunning: line?.maxRunning ?? maxRunning, recentSeconds });
    cached.set(PUBLIC_QUEUE, seconds, CACHE_MS);
    return seconds;
  };
}
