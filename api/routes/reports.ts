/** Routes that return download links for the PDF report and the JSON export of a scan. */
import { Type } from 'typebox';
import type { Scans } from '../../stores/scans/scans.ts';
import { callerOf } from '../plugins/auth.ts';
import { annotate } from '../plugins/request-log.ts';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { ErrorCode } from '../errors.ts';
import { EXAMPLES } from '../examples.ts';
import { LINK_SECONDS, MISSING, reportLink, type ReportKind, type ReportObjects } from '../report-links.ts';
import { answer, KEYED, keyOrSession, LIMITED, reference, refusals } from '../responses.ts';
import { ScanPath } from './scans.ts';

export const ReportLink = Type.Object(
  {
    url: Type.String({ format: 'uri', description: 'Downloads the report without an API key.' }),
    expires_in: Type.Integer({ minimum: 1, maximum: LINK_SECONDS, description: 'Seconds until the URL expires.' }),
  },
  { $id: 'ReportLink' },
);

export interface ReportRouteDeps {
  scans: Pick<Scans, 'find'>;
  reports: ReportObjects;
}

interface Kind {
  path: string;
  operationId: string;
  summary: string;
  object: ReportKind;
}

const KINDS: readonly Kind[] = [
  {
    path: '/v1/scans/:scan_id/report',
    operationId: 'getReport',
    summary: 'Get a link to the PDF report',
    object: 'pdf',
  },
  {
    path: '/v1/scans/:scan_id/report/json',
    operationId: 'getReportJson',
    summary: 'Get a link to the JSON export',
    object: 'export',
  },
];

export const reportRoutes: FastifyPluginAsyncTypebox<ReportRouteDeps> = async (scope, { scans, reports }) => {
  for (const kind of KINDS) {
    const codes = [...new Set<ErrorCode>([...KEYED, 'report_not_found', MISSING[kind.object], 'scan_not_complete'])];
    scope.get(
      kind.path,
      {
        config: { session: true, permission: 'scans:read', limit: 'reports' },
        schema: {
          operationId: kind.operationId,
          tags: ['Reports'],
          summary: kind.summary,
          security: keyOrSession('scans:read'),
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
        return { url: await reportLink(row, kind.object, reports), expires_in: LINK_SECONDS };
      },
    );
  }
};
