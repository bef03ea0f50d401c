/** A view with everything that a page of a scan shows, from a hostile site. */
import { placeFindings } from '../../report/view/findings.ts';
import type { Report } from '../../report/schema/report.ts';
import type { RootCause } from '../../report/schema/root-cause.ts';
import { viewObjectsOf, type ReportView } from '../../report/view/view.ts';
import type { Outcome } from '../../core/scan/outcome.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import type { ApiContext } from '../api/context.ts';

export const OUTCOME: Outcome = {
  score: 71.5,
  violations: { total: 12, critical: 3, serious: 9, moderate: 0, minor: 0 },
  pages: { scanned: 2, failed: 1, total: 3 },
};

export const HOSTILE = '"><script>document.title="hacked"</script><img src=x onerror=alert(1)>';

function group(change: Partial<RootCause>): RootCause {
  return {
    fingerprint: '0123456789abcdef',
    rule: 'image-alt',
    impact: 'critical',
    wcag: ['1.1.1'],
    help: 'Images must have alternative text',
    help_url: 'https://dequeuniversity.com/rules/axe/4.14/image-alt',
    pages: 2,
    elements: 3,
    page_urls: ['https://example.com/', `https://example.com/${encodeURIComponent(HOSTILE)}`, 'javascript:alert(1)'],
    example: {
      selector: `img[alt='${HOSTILE}']`,
      html: `<img src="/logo.png" title="${HOSTILE}">`,
      landmark: 'banner',
      box: null,
      failure_summary: 'Element does not have an alt attribute',
      frame_path: ['iframe'],
      shadow_path: [],
    },
    ...change,
  };
}

const SIZE = { width: 1280, height: 900 };

const view: ReportView = {
  view_version: 1,
  scan: { url: 'https://example.com/', finished_at: '2026-11-22T20:00:00.000Z', options: { locale: 'en' } },
  score: { value: OUTCOME.score, score_version: 1, pages_tested: 2, pages_attempted: 3, pages_found: 3, needs_review: 3 },
  counts: OUTCOME.violations,
  groups: [
    group({}),
    group({
      fingerprint: 'fedcba9876543210',
      rule: 'color-contrast',
      impact: 'serious',
      wcag: ['1.4.3'],
      elements: 9,
      pages: 1,
      page_urls: ['https://example.com/'],
      help: `Elements must meet minimum contrast ${HOSTILE}`,
    }),
  ],
  groups_total: 3,
  causes: [],
  cause_rules: {},
  leading: {
    causes: [
      { fingerprint: 'fedcba9876543210', rule: 'color-contrast', elements: 9 },
      { fingerprint: '0123456789abcdef', rule: 'image-alt', elements: 2 },
    ],
    removed: 11,
    percent: 91,
  },
  review_groups: [group({ fingerprint: 'aaaaaaaaaaaaaaaa', rule: 'video-caption', help: 'Videos must have captions' })],
  review_groups_total: 1,
  advice_groups: [
    group({ fingerprint: 'bbbbbbbbbbbbbbbb', rule: 'heading-order', help: 'Heading levels should only increase by one', wcag: [] }),
  ],
  advice_groups_total: 1,
  advice_elements: 4,
  pages: [
    {
      url: 'https://example.com/',
      ...{ title: HOSTILE, tested: true, score: 80, size: SIZE, frames_untested: [], frames_total: 0, caveats: [] },
      counts: { total: 3, critical: 3, serious: 0, moderate: 0, minor: 0 },
    },
    {
      url: `https://example.com/${'x'.repeat(900)}`,
      ...{ title: 'A page', tested: true, score: 63, size: SIZE, frames_untested: [], frames_total: 0, caveats: [] },
      counts: { total: 9, critical: 0, serious: 9, moderate: 0, minor: 0 },
    },
    {
      url: 'https://example.com/private',
      ...{ final_url: null, http_status: null, duration_ms: 1 },
      tested: false,
      reason: 'bot_wall',
      message: 'The page asks visitors to prove that they are people.',
      linked_from: ['https://example.com/', `https://example.com/${'y'.repeat(300)}`, HOSTILE],
    },
  ],
  pages_total: 3,
  pages_with_gaps: 0,
  addresses_left: 0,
  discovery: { links: 0, files: 0, hash_links: 0, other_hosts: [], other_hosts_left: 0, sitemaps_cut: 0 },
  pictures: [],
  page_pictures: [],
  issues: [],
  issues_total: 12,
};

/** Stores what pages show of a report, as the operator does. */
export async function storeReportView(context: ApiContext, scanId: string, report: Report): Promise<void> {
  const { view: made, findings } = viewObjectsOf(report);
  await context.stores.reports.writeFindings(scanId, findings);
  await context.stores.reports.writeView(scanId, Buffer.from(JSON.stringify(made)));
}

/** Stores the view of a scan, and returns the field of its row. */
export async function storeView(
  context: ApiContext,
  scanId: string,
  change: Partial<ReportView> = {},
  edit: (view: ReportView) => void = () => {},
): Promise<ScanRow['reports']> {
  const stored = structuredClone({ ...view, ...change });
  edit(stored);
  const { causes, object } = placeFindings(stored.groups, []);
  for (const { rule, help, wcag } of stored.groups)
    stored.cause_rules[rule] ??= { help, description: 'Ensures <img> elements have alternative text', wcag };
  Object.assign(stored, { causes });
  await context.stores.reports.writeFindings(scanId, object);
  await context.stores.reports.writeView(scanId, Buffer.from(JSON.stringify(stored)));
  return context.storeReports(scanId, ['pdf']);
}
