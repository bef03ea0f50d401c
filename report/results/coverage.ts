/** Which pages count as attempted, and how many were tested (decisions, "Scan results"). */
import type { PageProgress } from '../../core/scan/counts.ts';
import type { PageFailureReason, ReportPage } from '../schema/schema.ts';

/**
 * Whether a page that was not tested was attempted: loaded, tried, or left over when the time ran out. A page that the site
 * asks crawlers not to visit, an excluded page and one that is the same as another are not attempted. Addresses beyond `maxPages`
 * are only counted, in `addresses_left`.
 */
const ATTEMPTED: Readonly<Record<PageFailureReason, boolean>> = {
  navigation_failed: true,
  timeout: true,
  http_error: true,
  not_html: true,
  not_rendered: true,
  crashed: true,
  refused: true,
  redirected_away: true,
  redirected_to_gate: true,
  robots_disallowed: false,
  sign_in_page: true,
  bot_wall: true,
  download: true,
  test_failed: true,
  rate_limited: true,
  sign_in_lost: true,
  excluded: false,
  same_as: false,
};

/** Whether a failure counts against the coverage. */
export const isAttempted = (reason: PageFailureReason): boolean => ATTEMPTED[reason];

/** Counts the pages of a report. `total` is the number of attempted pages. */
export function countPages(pages: readonly ReportPage[]): PageProgress {
  const scanned = pages.filter(({ tested }) => tested).length;
  const failed = pages.filter((page) => !page.tested && isAttempted(page.reason)).length;
  return { scanned, failed, total: scanned + failed };
}
