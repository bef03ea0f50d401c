/** Routes that return download links for the PDF report, the JSON export and the pictures of a scan, and for the formats made from the export. */
import { Type } from 'typebox';
import type { FastifyRequest } from 'fastify';
import { REPORT_FORMAT_NAMES } from '../../report/schema/objects.ts';
import { oneOf } from '../../core/schemas.ts';
import { createReportFormats } from '../../report/workers/report-formats.ts';
import { callerOf } from '../http/plugins/auth.ts';
import { annotate } from '../http/plugins/request-log.ts';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { ErrorCode } from '../http/errors.ts';
import { EXAMPLES } from '../http/examples.ts';
import { formatLink, LINK_SECONDS, picturesLink, reportLink } from './report-links.ts';
import { answer, keyOrSession, LIMITED, reference, refusals, WITH_SESSION } from '../http/responses.ts';
import { ScanPath } from './scans.ts';

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
    'Get a link to the JSON export, SARIF, JUnit XML, Code Quality or EARL',
    'The JSON export has everything; the other formats are made from it. They are documented at `/docs/reports`, and the JSON Schema of the export is at `/schemas/report-v1.json`.',
    ['json_export_unavailable', 'report_format_unavailable', 'replica_busy'],
  ),
  querystring: ReportFormatQuery,
};

const GET_PICTURES = routeOf(
  'getReportPictures',
  'Get a link to the pictures of elements',
  'One object with all JPEG files of the report, one after the other. `pictures` of the JSON export has the place of each one: the picture of a root cause is the range of `bytes` bytes from `offset`, which can also be read alone with a `Range` header.',
  ['pictures_unavailable'],
);

const config = { session: true, permission: 'scans:read', limit: 'reports' } as const;

/** The validity is that of the link itself: it ends earlier if the session of this service at the object store does. */
const answerOf = (url: string) => ({ url, expires_in: Number(new URL(url).searchParams.get('X-Amz-Expires')) });

export const reportRoutes: FastifyPluginAsyncTypebox = async (scope) => {
  const { scans, reports } = scope.stores;
  const formats = createReportFormats(reports);
  const rowOf = async (request: FastifyRequest, scanId: string) => {
    annotate(request, { scan: scanId });
    return scans.find(scanId.toLowerCase(), callerOf(request).organisation.id);
  };

  scope.get('/v1/scans/:scan_id/report', { config, schema: GET_REPORT }, async (request) => {
    const row = await rowOf(request, request.params.scan_id);
    return answerOf(await reportLink(row, 'pdf', reports));
  });

  scope.get('/v1/scans/:scan_id/report/json', { config, schema: GET_JSON }, async (request) => {
    const row = await rowOf(request, request.params.scan_id);
    const { format } = request.query;
    const url = format === 'json' ? await reportLink(row, 'export', reports) : await formatLink(row, format, { reports, formats });
    return answerOf(url);
  });

  scope.get('/v1/scans/:scan_id/report/pictures', { config, schema: GET_PICTURES }, async (request) => {
    const row = await rowOf(request, request.params.scan_id);
    return answerOf(await picturesLink(row, reports));
  });
};
