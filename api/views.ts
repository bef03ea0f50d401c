/**
 * What pages read of the reports of scans: views and pictures. Organisations share the reads, so that one that opens very many
 * pages does not delay the pages of others. Public scans count as one organisation.
 */
import type { ReportView } from '../core/report/view.ts';
import { createSemaphore } from '../platform/concurrency/semaphore.ts';
import type { Reports } from '../stores/reports.ts';
import type { ScanRow } from '../stores/scans/scans.ts';
import { replicaBusy } from './errors.ts';

type Scan = Pick<ScanRow, 'id' | 'organisation'>;

export interface PageReports {
  /** The view of a report, as `Reports.readView`. @throws ApiError if too many reads are pending */
  readView(scan: Scan): Promise<ReportView | null>;
  /** A picture, as `Reports.readPicture`. @throws as `readView` */
  readPicture(scan: Scan, ...rest: Tail<Parameters<Reports['readPicture']>>): ReturnType<Reports['readPicture']>;
}
type Tail<T extends unknown[]> = T extends [unknown, ...infer Rest] ? Rest : never;

/** Parsed, the largest view needs about 3 MB. */
const VIEWS_MAX = 16;
/** After this time a view is read again, so that a deleted one disappears, in milliseconds. */
const KEPT_MS = 300_000;

/** Reads of this replica. A page has up to about a hundred pictures, which a browser may request at the same time. */
export const READ_LIMITS = { held: { total: 16, perKey: 4 }, pending: { total: 512, perKey: 128 } } as const;
/** How long a read may wait for its turn, in milliseconds. */
const TURN_MS = 5_000;

/** Keeps the views that were read last in memory: a view never changes until retention deletes it. Requests for one view share one read. */
export function createPageReports(reports: Pick<Reports, 'readView' | 'readPicture'>, clock: () => Date, turnMs = TURN_MS): PageReports {
  const turns = createSemaphore(READ_LIMITS);
  /** Least recently used first. */
  const kept = new Map<string, { view: Promise<ReportView | null>; until: number }>();

  async function inTurn<T>({ organisation }: Scan, read: () => Promise<T>): Promise<T> {
    const permit = await turns.acquire(organisation, AbortSignal.timeout(turnMs)).catch(() => {
      throw replicaBusy('total');
    });
    if (!permit.ok) throw replicaBusy(permit.limit);
    try {
      return await read();
    } finally {
      permit.release();
    }
  }

  return {
    readView(scan) {
      const now = clock().getTime();
      const known = kept.get(scan.id);
      kept.delete(scan.id);
      if (known !== undefined && known.until > now) {
        kept.set(scan.id, known);
        return known.view;
      }
      const entry = { view: inTurn(scan, () => reports.readView(scan.id)), until: now + KEPT_MS };
      kept.set(scan.id, entry);
      const forget = (): void => void (kept.get(scan.id) === entry && kept.delete(scan.id));
      // Not kept: the view may be stored a moment later, or the object store may come back.
      entry.view.then((view) => view === null && forget(), forget);
      if (kept.size > VIEWS_MAX) kept.delete(kept.keys().next().value!);
      return entry.view;
    },
    readPicture: (scan, ...rest) => inTurn(scan, () => reports.readPicture(scan.id, ...rest)),
  };
}
