/**
 * What pages read of the reports of scans: views and pictures. Organisations share the reads, so that one that opens very many
 * pages does not delay the pages of others. Public scans count as one organisation.
 */
import type { ReportView } from '../../report/view/view.ts';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import { createSemaphore, TooBusy } from '../../platform/concurrency/semaphore.ts';
import type { Reports } from '../../stores/reports.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { replicaBusy } from '../http/errors.ts';

type Scan = Pick<ScanRow, 'id' | 'organisation'>;
type Tail<T extends unknown[]> = T extends [unknown, ...infer Rest] ? Rest : never;

/** Parsed, the largest view needs about 6 MB. */
const VIEWS_MAX = 16;
/** After this time a view is read again, so that a deleted one disappears, in milliseconds. */
const KEPT_MS = 300_000;

/** Reads of this replica. A page has up to about a hundred pictures, which a browser may request at the same time. */
export const READ_LIMITS = { held: { total: 16, perKey: 4 }, pending: { total: 512, perKey: 128 } } as const;
/** How long a read may wait for its turn, in milliseconds. */
const TURN_MS = 5_000;

/** Keeps the views that were read last in memory: a view never changes until retention deletes it. Requests for one view share one read. */
export function createPageReports(
  reports: Pick<Reports, 'readView' | 'readFindings' | 'readPicture'>,
  { turnMs = TURN_MS, monotonic }: { turnMs?: number; monotonic?: () => number } = {},
) {
  const turns = createSemaphore(READ_LIMITS);
  const kept = new BoundedMap<Promise<ReportView | null>>({ max: VIEWS_MAX, monotonic });

  async function inTurn<T>({ organisation }: Scan, read: () => Promise<T>): Promise<T> {
    try {
      return await turns.run(organisation, read, AbortSignal.timeout(turnMs));
    } catch (error) {
      throw error instanceof TooBusy ? replicaBusy(error.limit) : error;
    }
  }

  return {
    /** The view of a report, as `Reports.readView`. @throws ApiError if too many reads are pending */
    readView(scan: Scan): Promise<ReportView | null> {
      const known = kept.get(scan.id);
      if (known !== null) return known;
      const reading = inTurn(scan, () => reports.readView(scan.id));
      kept.set(scan.id, reading, KEPT_MS);
      const forget = (): void => void (kept.get(scan.id) === reading && kept.delete(scan.id));
      // Not kept: the view may be stored a moment later, or the object store may come back.
      reading.then((view) => view === null && forget(), forget);
      return reading;
    },
    /** A part of the findings, as JSON; null if there is none. @throws as `readView` */
    async readFindings(scan: Scan, ...rest: Tail<Parameters<Reports['readFindings']>>): Promise<unknown> {
      const bytes = await inTurn(scan, () => reports.readFindings(scan.id, ...rest));
      return bytes === null ? null : (JSON.parse(Buffer.from(bytes).toString()) as unknown);
    },
    /** A picture, as `Reports.readPicture`. @throws as `readView` */
    readPicture: (scan: Scan, ...rest: Tail<Parameters<Reports['readPicture']>>) =>
      inTurn(scan, () => reports.readPicture(scan.id, ...rest)),
  };
}
export type PageReports = ReturnType<typeof createPageReports>;
