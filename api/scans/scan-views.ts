/**
 * What pages read of the reports of scans: views and pictures. Organisations share the reads, so that one that opens very many
 * pages does not delay the pages of others. Public scans count as one organisation.
 */
import type { FastifyReply } from 'fastify';
import type { ReportView } from '../../report/view/view.ts';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import { createSemaphore, TooBusy } from '../../platform/concurrency/semaphore.ts';
import type { Reports } from '../../stores/reports.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { ApiError, replicaBusy } from '../http/errors.ts';
import type { PagePicture } from '../../report/schema/report.ts';

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

/**
 * Sends the pictures of a scan's report to pages: of elements and of whole pages. A picture never changes, but a shared computer should not
 * keep it for long. In seconds.
 */
const KEPT_SECONDS = 3600;
const TIMEOUT_MS = 5_000;

/** The name of a picture in addresses. */
export const pictureName = (fingerprint: string): string => `${fingerprint}.jpg`;

/** The name of the picture of a page. @param at its number in the scan, from 1 */
export const pagePictureName = (at: number): string => `page-${at}.jpg`;

/**
 * Sends a picture. The caller has checked that the person may see the scan.
 * @param name from `pictureName` or `pagePictureName`; any text
 * @throws ApiError if there is no such picture
 */
export async function sendPicture(
  reply: FastifyReply,
  { readView, readPicture }: Pick<PageReports, 'readView' | 'readPicture'>,
  scan: Pick<ScanRow, 'id' | 'organisation'>,
  name: string,
): Promise<FastifyReply> {
  const view = await readView(scan);
  const place = view === null ? undefined : placeOf(view, name);
  const bytes = place === undefined ? null : await readPicture(scan, place, AbortSignal.timeout(TIMEOUT_MS));
  if (bytes === null) throw new ApiError('report_not_found');
  return reply
    .type('image/jpeg')
    .header('X-Content-Type-Options', 'nosniff')
    .header('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'")
    .header('Cross-Origin-Resource-Policy', 'same-origin')
    .header('Cache-Control', `private, max-age=${KEPT_SECONDS}`)
    .send(Buffer.from(bytes));
}

function placeOf({ pages, pictures, page_pictures }: ReportView, name: string): PagePicture | undefined {
  const at = /^page-([1-9]\d{0,5})\.jpg$/.exec(name)?.[1];
  if (at === undefined) return pictures.find(({ fingerprint }) => pictureName(fingerprint) === name);
  const page = pages[Number(at) - 1];
  return page && page_pictures.find(({ page_url }) => page_url === page.url);
}
