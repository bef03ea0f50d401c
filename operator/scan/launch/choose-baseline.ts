/** Chooses the earlier scan that a scan is compared with. */
import { siteOf } from '../../../core/scan/site.ts';
import type { BaselineChoice } from '../../../core/scan/baseline.ts';
import type { NamedBaseline } from '../../../report/diff/baseline.ts';
import type { ScanRow, Scans } from '../../../stores/scans/scans.ts';

/** Returns the baseline of a scan, or why there is none. @throws if MongoDB is unavailable */
export type ChooseBaseline = (scanId: string, choice: BaselineChoice) => Promise<NamedBaseline>;

export interface BaselineDeps {
  scans: Pick<Scans, 'find' | 'newestDoneWith'>;
}

export function createBaselineChoice({ scans }: BaselineDeps): ChooseBaseline {
  async function find(row: ScanRow, { scan, metadata, schedule, site }: BaselineChoice): Promise<ScanRow | null> {
    if (scan !== undefined) return scans.find(scan, row.organisation);
    // Only scans of before, so that the choice does not depend on how long this one waited.
    // A manifest means the schedule beside it. Over HTTP, nobody names a namespace.
    const namespace = row.origin === 'manifest' ? { namespace: row.resource.namespace } : {};
    const kind = schedule !== undefined ? { schedule, ...namespace } : { metadata: metadata ?? {}, site: site ?? siteOf(row.options.url) };
    return scans.newestDoneWith(row.organisation, { ...kind, before: row.createdAt, ...(row.test && { test: true }) });
  }

  return async (scanId, choice) => {
    const { optional = false } = choice;
    const row = await scans.find(scanId);
    const found = row && (await find(row, choice));
    if (found === null || found.phase !== 'done' || found.id === scanId || found.test !== row?.test)
      return { optional, problem: 'not_found' };
    return found.reports === null ? { scanId: found.id, optional, problem: 'not_stored' } : { scanId: found.id, optional };
  };
}
