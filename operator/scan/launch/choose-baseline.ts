/** Chooses the earlier scan that a scan is compared with. */
import { siteOf } from '../../../core/scan/site.ts';
import type { BaselineChoice } from '../../../core/scan/baseline.ts';
import type { NamedBaseline } from '../../../report/diff/baseline.ts';
import type { ScanRow, Scans } from '../../../stores/scans/scans.ts';

/** Returns the baseline of a scan, or why there is none. @throws if MongoDB is unavailable */
export type ChooseBaseline = (scanId: string, choice: BaselineChoice) => Promise<NamedBaseline>;

export interface BaselineDeps {
  scans: Pick<Scans, 'find' | 'newestDoneWith'>;
  /** How long reports are kept, in days. */
  retentionDays: number;
  now: () => Date;
}

/** Reports that retention deletes earlier than this are not used: pod and operator read them, and must see the same. */
const LASTS_DAYS = 1;
const DAY_MS = 86_400_000;

export function createBaselineChoice({ scans, retentionDays, now }: BaselineDeps): ChooseBaseline {
  async function find(row: ScanRow, { scan, metadata, schedule, site }: BaselineChoice): Promise<ScanRow | null> {
    if (scan !== undefined) return scans.find(scan.toLowerCase(), row.organisation);
    // Only scans of before, so that the choice does not depend on how long this one waited.
    // A manifest means the schedule beside it. Over HTTP, nobody names a namespace.
    const namespace = row.origin === 'manifest' ? { namespace: row.resource.namespace } : {};
    const kind =
      schedule !== undefined
        ? { schedule, ...namespace }
        : { metadata: metadata ?? {}, site: site?.toLowerCase() ?? siteOf(row.options.url) };
    return scans.newestDoneWith(row.organisation, { ...kind, before: row.createdAt, ...(row.test && { test: true }) });
  }

  return async (scanId, choice) => {
    const { optional = false } = choice;
    const row = await scans.find(scanId);
    const found = row && (await find(row, choice));
    if (found === null || found.phase !== 'done' || found.id === scanId || found.test !== row?.test)
      return { optional, problem: 'not_found' };
    const expiresIn = (found.finishedAt?.getTime() ?? 0) + retentionDays * DAY_MS - now().getTime();
    return found.reports === null || expiresIn < LASTS_DAYS * DAY_MS
      ? { scanId: found.id, optional, problem: 'not_stored' }
      : { scanId: found.id, optional };
  };
}
