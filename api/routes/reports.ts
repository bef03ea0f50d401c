/** Routes that return download links for the PDF report and the JSON export of a scan. */
import { Type } from 'typebox';
import { isTerminal } from '../../core/scan/phases.ts';
import type { Reports } from '../../stores/reports.ts';
import type { ScanRow, Scans } from '../../stores/scans/scans.ts';
import { callerOf } from '../plugins/auth.ts';
import { annotate } from '../plugins/request-log.ts';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ApiError, type ErrorCode } from '../errors.ts';
import { EXAMPLES } from '../examples.ts';
import { answer, KEYED, LIMITED, reference, refusals } from '../responses.ts';
import { ScanPath } from './scans.ts';

/** How long a link is valid, in seconds (decisions, "Limits"). */
const LINK_SECONDS = 3600;

export const ReportLink = Type.Object(
  {
    url: Type.String({ format: 'uri', description: 'Downloads the report without an API key.' }),
    expires_in: Type.Integer({ minimum: 1, maximum: LINK_SECONDS, description: 'Seconds until the URL expires.' }),
  },
  { $id: 'ReportLink' },
);

export interface ReportRouteDeps {
  scans: Pick<Scans, 'find'>;
  reports: Pick<Reports, 'downloadLink' | 'size'>;
}

interface Kind {
  path: string;
  operationId: string;
  summary: string;
  object: 'pdf' | 'export';
  extension: string;
  /** The error if the scan is done but this object does not exist. */
  missing: ErrorCode;
}

const KINDS: readonly Kind[] = [
  {
    path: '/v1/scans/:scan_id/report',
    operationId: 'getReport',
    summary: 'Get a link to the PDF report',
    object: 'pdf',
    extension: 'pdf',
    missing: 'report_not_found',
  },
  {
    path: '/v1/scans/:scan_id/report/json',
    operationId: 'getReportJson',
    summary: 'Get a link to the JSON export',
    object: 'export',
    extension: 'json',
    missing: 'json_export_unavailable',
  },
];

export const reportRoutes: FastifyPluginAsyncTypebox<ReportRouteDeps> = async (scope, { scans, reports }) => {
  for (const kind of KINDS) {
    const codes = [...new Set<ErrorCode>([...KEYED, 'report_not_found', kind.missing, 'scan_not_complete'])];
    scope.get(
      kind.path,
      {
        config: { limit: 'reports' },
        schema: {
          operationId: kind.operationId,
          tags: ['Reports'],
          summary: kind.summary,
          security: [{ apiKey: [] }],
          params: ScanPath,
          response: {
            200: answer('A link that is valid for one hour.', reference(ReportLink), LIMITED, { link: EXAMPLES.reportLink }),
            ...refusals(codes, { limited: true, validated: true }),
          },
        },
      },
      async (request) => {
        const { scan_id } = request.params;
        annotate(request, { scan: scan_id });
        const row = await scans.find(scan_id.toLowerCase(), callerOf(request).organisation.id);
        if (row === null) throw new ApiError('report_not_found');
        if (!isTerminal(row.phase)) throw new ApiError('scan_not_complete');
        if (row.reports === null) throw new ApiError('report_not_found');
        const { key } = row.reports[kind.object];
        if ((await reports.size(key)) === null) throw new ApiError(kind.missing);
        return { url: await reports.downloadLink(key, fileNameOf(row, kind.extension), LINK_SECONDS), expires_in: LINK_SECONDS };
      },
    );
  }
};

/** A file name from the site's host and the scan ID, in characters that every file system accepts. */
export function fileNameOf(row: Pick<ScanRow, 'id' | 'options'>, extension: string): string {
  const host = new URL(row.options.url).hostname.replace(/[^a-z0-9.-]/gi, '').slice(0, 100);
  return `accessibility-${host}-${row.id.slice(0, 8)}.${extension}`;
}
