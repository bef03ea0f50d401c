/** Sends the pictures of a scan's report to pages. */
import type { FastifyReply } from 'fastify';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { ApiError } from '../http/errors.ts';
import type { PageReports } from './views.ts';

/** A picture never changes, but a shared computer should not keep it for long. In seconds. */
const KEPT_SECONDS = 3600;
const TIMEOUT_MS = 5_000;

/** The name of a picture in addresses. */
export const pictureName = (fingerprint: string): string => `${fingerprint}.jpg`;

/**
 * Sends the picture of a root cause. The caller has checked that the person may see the scan.
 * @param name from `pictureName`; any text
 * @throws ApiError if there is no such picture
 */
export async function sendPicture(
  reply: FastifyReply,
  { readView, readPicture }: Pick<PageReports, 'readView' | 'readPicture'>,
  scan: Pick<ScanRow, 'id' | 'organisation'>,
  name: string,
): Promise<FastifyReply> {
  const view = await readView(scan);
  const group =
    view === null
      ? undefined
      : [...view.causes, ...view.groups, ...view.needs_review].find(
          ({ fingerprint, picture }) => picture !== undefined && pictureName(fingerprint) === name,
        );
  const bytes = group?.picture === undefined ? null : await readPicture(scan, group.picture, AbortSignal.timeout(TIMEOUT_MS));
  if (bytes === null) throw new ApiError('report_not_found');
  return reply
    .type('image/jpeg')
    .header('X-Content-Type-Options', 'nosniff')
    .header('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'")
    .header('Cross-Origin-Resource-Policy', 'same-origin')
    .header('Cache-Control', `private, max-age=${KEPT_SECONDS}`)
    .send(Buffer.from(bytes));
}
