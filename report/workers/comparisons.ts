/** The difference between two scans of an organisation, for pages. Computed once, and then kept. Organisations take turns. */
import type { ComparedCauses, ComparedReports } from '../diff/summary.ts';
import { createSemaphore, ONE_AT_A_TIME, TooBusy, type SemaphoreLimit } from '../../platform/concurrency/semaphore.ts';
import type { Logger } from '../../platform/logger.ts';
import { untilAborted } from '../../platform/time-limits.ts';
import { exportMemoryMib, LARGE_EXPORT_BYTES } from '../schema/export-size.ts';
import type { ReportObjects, ReportReader } from '../schema/objects.ts';
import { createReportComparer, type ReportComparer, type StoredComparison } from './compare.ts';

/**
 * `busy`: too many comparisons of the organisation (`key`), or of all, are pending; the caller may try again. The other reasons
 * are those of `StoredComparison`.
 */
export type Comparison =
  | (ComparedReports & { causes: ComparedCauses })
  | Extract<StoredComparison, { ok: false }>
  | { ok: false; reason: 'busy'; limit: SemaphoreLimit };

/** The fields of a row that identify a comparison. */
export interface ComparedScan {
  id: string;
  organisation: string;
  /** Null if they were deleted. */
  reports: ReportObjects | null;
}

/** A result that a repeated comparison would have, too. */
export type LastingComparison = ComparedReports | { ok: false; reason: 'not_comparable' };

/** Keeps results, by the IDs of the scans. */
export interface ComparisonStore {
  find(organisation: string, beforeId: string, afterId: string): Promise<LastingComparison | null>;
  /** Stores a result. Idempotent. */
  store(organisation: string, beforeId: string, afterId: string, result: LastingComparison, now: Date): Promise<void>;
}

export type Comparisons = ReturnType<typeof createComparisons>;

export interface ComparisonsDeps {
  cache: ComparisonStore;
  /** Lists causes: `CAUSES_MAX`. */
  comparer: ReportComparer;
  now: () => Date;
  logger: Logger;
  /** The time limit of a comparison with its wait for others. Default: a minute. */
  timeoutMs?: number;
}

/** The maximum numbers of new and of fixed root causes that a comparison lists. */
export const CAUSES_MAX = 100;

/** The time limit of a comparison with its wait for others, in milliseconds. */
const TIMEOUT_MS = 60_000;

/**
 * Comparisons of this replica. One runs at a time, because each needs a thread and its memory. If more were pending, callers would
 * wait for longer than a page may take.
 */
export const COMPARISON_LIMITS = { held: { total: 1, perKey: 1 }, pending: { total: 8, perKey: 2 } } as const;

const no = (reason: Extract<StoredComparison, { ok: false }>['reason']): Comparison => ({ ok: false, reason });

export function createComparisons({ cache, comparer, now, logger, timeoutMs = TIMEOUT_MS }: ComparisonsDeps) {
  /** By pair, so that several requests for one comparison share it. */
  const pending = new Map<string, Promise<Comparison>>();
  const turns = createSemaphore(COMPARISON_LIMITS);

  async function known(before: ComparedScan, after: ComparedScan): Promise<Comparison | null> {
    if (!mayBeCompared(before, after)) return no('not_found');
    const result = await cache.find(after.organisation, before.id, after.id);
    return result as Comparison | null;
  }

  async function inTurn(before: ComparedScan, after: ComparedScan, signal: AbortSignal): Promise<StoredComparison | Comparison> {
    try {
      return await turns.run(after.organisation, () => comparer.compareStored(before.id, after.id, signal), signal);
    } catch (error) {
      if (error instanceof TooBusy) return { ok: false, reason: 'busy', limit: error.limit };
      throw error;
    }
  }

  /** Not ended by the caller's signal: its result is kept for the next caller. */
  async function compute(before: ComparedScan, after: ComparedScan): Promise<Comparison> {
    const result = await inTurn(before, after, AbortSignal.timeout(timeoutMs)).catch((error: unknown) => {
      logger.warn({ scan: after.id, organisation: after.organisation, err: error }, 'reports not compared');
      return no('unavailable');
    });
    if (isLasting(result))
      await cache.store(after.organisation, before.id, after.id, result, now()).catch((error: unknown) => {
        // The result is still right; the next caller compares again.
        logger.warn({ scan: after.id, organisation: after.organisation, err: error }, 'comparison not stored');
      });
    return result as Comparison;
  }

  return {
    /** Returns a comparison that was computed before, in a few milliseconds; null if there is none. */
    known,
    /** Compares two scans of one organisation. Takes up to a minute unless it is known. @throws the signal's reason if it aborts */
    async between(before: ComparedScan, after: ComparedScan, signal?: AbortSignal): Promise<Comparison> {
      const found = await known(before, after);
      if (found !== null) return found;
      const pair = `${before.id}:${after.id}`;
      let computing = pending.get(pair);
      if (computing === undefined) {
        computing = compute(before, after).finally(() => pending.delete(pair));
        pending.set(pair, computing);
      }
      return untilAborted(computing, signal);
    },
  };
}

/** Scans of one organisation whose reports were not deleted. */
const mayBeCompared = (before: ComparedScan, after: ComparedScan): boolean =>
  before.organisation === after.organisation && before.reports !== null && after.reports !== null;

const isLasting = (result: StoredComparison | Comparison): result is LastingComparison => result.ok || result.reason === 'not_comparable';

/** Opens comparisons of exports that are not large: larger ones would need more memory than a process has that serves requests. */
export function openComparisons({ reports, ...deps }: { reports: ReportReader } & Omit<ComparisonsDeps, 'comparer'>): Comparisons {
  const bounds = { exportMaxBytes: LARGE_EXPORT_BYTES, memoryMib: exportMemoryMib(LARGE_EXPORT_BYTES / 1024 / 1024) };
  const { logger } = deps;
  const comparer = createReportComparer({ reports, bounds, largeExports: createSemaphore(ONE_AT_A_TIME), causesMax: CAUSES_MAX, logger });
  return createComparisons({ ...deps, comparer });
}
