/** Sends the pictures of a scan's report to pages: of elements and of whole pages. */
import type { FastifyReply } from 'fastify';
import type { ReportView, ViewCause, ViewPicture } from '../../report/view/schema.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { ApiError } from '../http/errors.ts';
import type { PageReports } from './views.ts';

/** A picture never changes, but a shared computer should not keep it for long. In seconds. */
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

function placeOf({ pages, causes, groups, needs_review }: ReportView, name: string): ViewPicture | undefined {
  const at = /^page-([1-9]\d{0,5})\.jpg$/.exec(name)?.[1];
  if (at !== undefined) {
    const page = pages[Number(at) - 1];
    return page?.tested ? page.picture : undefined;
  }
  const causeOf = ({ fingerprint, picture }: Pick<ViewCause, 'fingerprint' | 'picture'>): boolean =>
    picture !== undefined && pictureName(fingerprint) === name;
  return [...causes, ...groups, ...needs_review].find(causeOf)?.picture;
}
