/** Public scans in any state for tests of the public pages, and the pages over any answer of `requestPublicScan`. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import errors from '../../api/http/plugins/errors.ts';
import jsonBodies from '../../api/http/validation.ts';
import requestLog from '../../api/http/plugins/request-log.ts';
import { publicPages } from '../../api/public/pages/routes.ts';
import web from '../../api/web/plugin.ts';
import type { ApiStores, Settings } from '../../api/dependencies.ts';
import type { Metrics } from '../../api/metrics.ts';
import { NO_TRACER } from '../../platform/tracing.ts';
import type { Estimate } from '../../api/public/estimate.ts';
import type { RequestPublicScan } from '../../api/public/request-public-scan.ts';
import { viewOf, type ReportView } from '../../report/view/view.ts';
import { ANONYMOUS } from '../../core/organisation.ts';
import type { ReportViolation } from '../../report/schema/page.ts';
import type { Locale } from '../../core/scan/locales.ts';
import type { ScanChange, ScanRow } from '../../stores/scans/scans.ts';
import type { ApiContext } from '../api/context.ts';
import { sampleInput, sampleNode, samplePage, sampleViolation } from '../report/samples.ts';
import { reportOf } from '../support/scan-results.ts';
import { silentLogger } from '../support/silent-logger.ts';

export const TESTED_URL = 'https://www.example.org/visit';

const CONTRAST = { foreground: '#777777', background: '#eeeeee', ratio: 3.87, required: 4.5, font_size_px: 14 };

/** Violations of four severities; two elements have the same cause. */
const VIOLATIONS: ReportViolation[] = [
  sampleViolation('image-alt', 'critical', 'Images must have alternative text', [
    sampleNode('<img class="card-photo" src="/img/photo.jpg" width="320">', 'li:nth-child(1) > .card-photo'),
    sampleNode('<img class="card-photo" src="/img/photo.jpg" width="320">', 'li:nth-child(2) > .card-photo'),
  ]),
  sampleViolation(
    'color-contrast',
    'serious',
    'Elements must meet minimum color contrast ratio thresholds',
    [{ ...sampleNode('<p class="note">Open on Monday</p>', 'footer > .note'), contrast: CONTRAST }],
    ['1.4.3'],
  ),
  sampleViolation(
    'meta-viewport',
    'moderate',
    'Zooming and scaling must not be disabled',
    [sampleNode('<meta name="viewport" content="user-scalable=no">', 'meta[name="viewport"]')],
    ['1.4.4'],
  ),
];
const TO_REVIEW = [
  sampleViolation(
    'video-caption',
    'serious',
    '<video> elements must have captions',
    [{ ...sampleNode('<video src="/tour.webm"></video>', 'video'), frame_path: ['#tour'] }],
    ['1.2.2'],
  ),
];

/** The view of a scan of one page. */
export function sampleView(violations: ReportViolation[] = VIOLATIONS, toReview = TO_REVIEW, locale: Locale = 'en'): ReportView {
  const page = samplePage(TESTED_URL, 'Plan your visit', violations, toReview);
  return viewOf(reportOf(sampleInput({}, locale, TESTED_URL), [page]));
}

/** Stores the view of a scan. @returns the change that ends the scan's row with its reports */
export async function storeView(context: ApiContext, scanId: string, view: ReportView): Promise<ScanChange> {
  await context.stores.reports.writeView(scanId, Buffer.from(JSON.stringify(view)));
  return { phase: 'done', reports: await context.storeReports(scanId, []), finishedAt: new Date() };
}

/** Stores a public scan. @returns its token */
export async function storePublicScan(
  context: ApiContext,
  change: Partial<ScanRow> = {},
  view: ReportView | null = null,
  email = `${randomUUID()}@example.com`,
): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  const id = change.id ?? randomUUID();
  const row = await context.scan(ANONYMOUS, { id, ...change, ...(view !== null && (await storeView(context, id, view))) });
  const createdAt = new Date();
  const expiresAt = new Date(createdAt.getTime() + 86_400_000);
  const about = { url: TESTED_URL, email, locale: 'en' as const };
  await context.stores.publicScans.claim({ token, scanId: row.id, ...about, createdAt, expiresAt }, '192.0.2.1');
  return token;
}

/** Serves only the public pages. */
export async function servePublicPages({
  requestPublicScan,
  estimate = () => Promise.reject(new Error('unknown')),
  turnstile = null,
}: {
  requestPublicScan: RequestPublicScan | null;
  estimate?: Estimate;
  turnstile?: { siteKey: string } | null;
}): Promise<{ url: string; close(): Promise<unknown> }> {
  const app = Fastify({ forceCloseConnections: true });
  app.decorate('settings', {
    publicBaseUrl: 'https://curbcut.example',
    dashboard: true,
    legal: {},
    publicScans: { turnstile },
  } as Settings);
  app.decorate('logger', silentLogger);
  app.decorate('metrics', { requestBegan: () => {}, requestEnded: () => {} } as unknown as Metrics);
  app.decorate('tracer', NO_TRACER);
  app.decorate('anonymousStores', { publicScans: { findByToken: () => Promise.resolve(null) } } as unknown as ApiStores);
  app.decorate('publicScanning', requestPublicScan && { requestPublicScan, estimate });
  await app.register(requestLog);
  await app.register(jsonBodies);
  await app.register(web);
  await app.register(errors);
  await app.register(publicPages);
  await app.listen({ host: '127.0.0.1', port: 0 });
  return { close: () => app.close(), url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}` };
}
