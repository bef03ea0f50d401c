/** Opens the comparison of scans in a process that serves requests. */
import { exportMemoryMib, LARGE_EXPORT_BYTES } from '../../report/schema/large-exports.ts';
import type { Logger } from '../../platform/logger.ts';
import { createSemaphore, ONE_AT_A_TIME } from '../../platform/concurrency/semaphore.ts';
import type { Reports } from '../reports.ts';
import type { ComparisonCache } from './cache.ts';
import { createReportComparer } from './compare.ts';
import { CAUSES_MAX, createComparisons, type Comparisons } from './comparisons.ts';

export interface OpenComparisonsDeps {
  reports: Pick<Reports, 'read' | 'size'>;
  comparisonCache: Pick<ComparisonCache, 'find' | 'store'>;
  now: () => Date;
  logger: Logger;
}

/** Compares exports that are not large: larger ones would need more memory than such a process has (docs/sizing.md). */
export function openComparisons({ reports, comparisonCache, now, logger }: OpenComparisonsDeps): Comparisons {
  const bounds = { exportMaxBytes: LARGE_EXPORT_BYTES, memoryMib: exportMemoryMib(LARGE_EXPORT_BYTES / 1024 / 1024) };
  const comparer = createReportComparer({ reports, bounds, largeExports: createSemaphore(ONE_AT_A_TIME), causesMax: CAUSES_MAX, logger });
  return createComparisons({ cache: comparisonCache, comparer, now, logger });
}
