/** Routes that return download links for the PDF report, the JSON export and the pictures of a scan, and for the formats made from the export. */
import { Type } from 'typebox';
import type { FastifyInstance } from 'fastify';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { PICTURES_NAME, REPORT_FORMAT_NAMES, REPORT_FORMATS, type ReportFormat, reportKeys } from '../../report/schema/objects.ts';
import { oneOf } from '../../core/schemas.ts';
import type { StoredFormat } from '../../report/workers/report-formats.ts';
import { scanOf } from '../http/plugins/auth.ts';
import { ApiError, type ErrorCode, replicaBusy } from '../http/errors.ts';
import { EXAMPLES } from '../http/examples.ts';
import { answer, keyOrSession, LIMITED, reference, refusals, WITH_SESSION } from '../http/responses.ts';
import { isTerminal } from '../../core/scan/phases.ts';
import type { Reports } from '../../stores/reports.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { ScanPath } from './scans.ts';

/** How long a link is valid, in seconds (decisions, "Limits"). */
export const LINK_SECONDS = 3600;
/** The same for readers of a shared result. A link cannot be taken back, so it is valid only for the redirect. */
export const SHARED_LINK_SECONDS = 60;

export const ReportLink = Type.Object(
  {
    url: Type.String({ format: 'uri', description: 'Downloads the report without an API key.' }),
    expires_in: Type.Integer({ minimum: 1, maximum: LINK_SECONDS, description: 'Seconds until the URL expires.' }),
  },
  { $id: 'ReportLink' },
);

/** The formats of `format`. */
const FORMATS = ['json', ...REPORT_FORMAT_NAMES] as const;

const ReportFormatQuery = Type.Object({
  format: oneOf(FORMATS, {
    default: 'json',
    description:
      'The format of the results. The first request for another format than `json` makes it from the export, which takes some ' +
      'seconds; it is kept as long as the export.',
  }),
});

const routeOf = (operationId: string, summary: string, description: string | undefined, codes: readonly ErrorCode[]) => ({
  operationId,
  tags: ['Reports'],
  summary,
  ...(description !== undefined && { description }),
  security: keyOrSession('scans:read'),
  params: ScanPath,
  response: {
    200: answer('A link that is valid for one hour.', reference(ReportLink), LIMITED, { link: EXAMPLES.reportLink }),
    ...refusals([...new Set<ErrorCode>([...WITH_SESSION, 'report_not_found', ...codes, 'scan_not_complete'])]),
  },
});

const GET_REPORT = routeOf('getReport', 'Get a link to the PDF report', undefined, []);
const GET_JSON = {
  ...routeOf(
    'getReportJson',
    'Get a link to the JSON export, the HTML report, SARIF, JUnit XML, Code Quality, EARL, CSV or a draft',
    'The JSON export has everything; the other formats are made from it. They are documented at `/docs/reports`, and the JSON Schema of the export is at `/schemas/report-v1.json`.',
    ['json_export_unavailable', 'report_format_unavailable', 'report_version_unsupported', 'replica_busy'],
  ),
  querystring: ReportFormatQuery,
};

const GET_PICTURES = routeOf(
  'getReportPictures',
  'Get a link to the pictures of elements',
  'One object with all JPEG files of the report, one after the other. `pictures` of the JSON export has the place of each one: the picture of a root cause is the range of `bytes` bytes from `offset`, which can also be read alone with a `Range` header.',
  ['pictures_unavailable'],
);

const config = { session: true, permission: 'scans:read', limit: 'reports', withScan: true } as const;

/** The validity is that of the link itself: it ends earlier if the session of this service at the object store does. */
const answerOf = (url: string) => ({ url, expires_in: Number(new URL(url).searchParams.get('X-Amz-Expires')) });

export const reportRoutes: FastifyPluginAsyncTypebox = async (scope) => {
  const { reports } = scope.stores;

  scope.get('/v1/scans/:scan_id/report', { config, schema: GET_REPORT }, async (request) => {
    const row = await scanOf(request);
    return answerOf(await reportLink(row, 'pdf', reports));
  });

  scope.get('/v1/scans/:scan_id/report/json', { config, schema: GET_JSON }, async (request) => {
    const row = await scanOf(request);
    const { format } = request.query;
    const url = format === 'json' ? await reportLink(row, 'export', reports) : await formatLink(row, format, scope);
    return answerOf(url);
  });

  scope.get('/v1/scans/:scan_id/report/pictures', { config, schema: GET_PICTURES }, async (request) => {
    const row = await scanOf(request);
    return answerOf(await picturesLink(row, reports));
  });
};

/** Download links of a scan's reports, for the API and for the dashboard. */
export type ReportKind = keyof NonNullable<ScanRow['reports']>;

/** The error if the scan is done but the object does not exist. */
const MISSING: Readonly<Record<ReportKind, ErrorCode>> = { pdf: 'report_not_found', export: 'json_export_unavailable' };

const EXTENSIONS: Readonly<Record<ReportKind, string>> = { pdf: 'pdf', export: 'json' };

export type ReportObjects = Pick<Reports, 'downloadLink' | 'size'>;

/** @throws ApiError if there is no such scan, or if it has no reports */
function requireReports(row: ScanRow | null): asserts row is ScanRow & { reports: NonNullable<ScanRow['reports']> } {
  if (row === null) throw new ApiError('report_not_found');
  if (!isTerminal(row.phase)) throw new ApiError('scan_not_complete');
  if (row.reports === null) throw new ApiError('report_not_found');
}

/**
 * Returns a link to a report of a scan.
 * @param seconds how long it is valid
 * @param row null if the caller has no such scan
 * @throws ApiError if there is no such report
 */
export async function reportLink(
  row: ScanRow | null,
  kind: ReportKind,
  reports: ReportObjects,
  seconds: number = LINK_SECONDS,
): Promise<string> {
  requireReports(row);
  const { key } = row.reports[kind];
  if ((await reports.size(key)) === null) throw new ApiError(MISSING[kind]);
  return reports.downloadLink(key, fileNameOf(row, EXTENSIONS[kind]), seconds);
}

/**
 * Returns a link to a format of a scan's export, which is valid for `LINK_SECONDS`.
 * @param row null if the caller has no such scan
 * @throws ApiError if there is no such report
 */
export async function formatLink(
  row: ScanRow | null,
  format: ReportFormat,
  { stores: { reports }, reportFormats }: Pick<FastifyInstance, 'stores' | 'reportFormats'>,
): Promise<string> {
  requireReports(row);
  const stored = await reportFormats.ensure(row, format);
  if (!stored.ok) throw stored.reason === 'busy' ? replicaBusy(stored.limit) : new ApiError(NO_FORMAT[stored.reason]);
  return reports.downloadLink(stored.key, fileNameOf(row, REPORT_FORMATS[format].extension), LINK_SECONDS);
}

const NO_FORMAT: Readonly<Record<Exclude<Extract<StoredFormat, { ok: false }>['reason'], 'busy'>, ErrorCode>> = {
  not_found: 'json_export_unavailable',
  too_large: 'report_format_unavailable',
  other_version: 'report_version_unsupported',
};

/**
 * Returns a link to the object with all pictures of a scan, which is valid for `LINK_SECONDS`.
 * @param row null if the caller has no such scan
 * @throws ApiError if there is no report, or if it has no pictures
 */
async function picturesLink(row: ScanRow | null, reports: ReportObjects): Promise<string> {
  requireReports(row);
  const key = reportKeys(row.id).pictures;
  if ((await reports.size(key)) === null) throw new ApiError('pictures_unavailable');
  return reports.downloadLink(key, fileNameOf(row, PICTURES_NAME), LINK_SECONDS);
}

/** A file name from the site's host and the scan ID, in characters that every file system accepts. */
function fileNameOf(row: Pick<ScanRow, 'id' | 'options'>, extension: string): string {
  const host = new URL(row.options.url).hostname.replace(/[^a-z0-9.-]/gi, '').slice(0, 100);
  return `accessibility-${host}-${row.id.slice(0, 8)}.${extension}`;
}
