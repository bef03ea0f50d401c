/** The list of the pages of a scan, and what was found on one of them. */
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { pagePath, pagesPath, scanPath, SCANS_PATH } from '../../../core/web-paths.ts';
import { withTimeLimit } from '../../../platform/time-limits.ts';
import type { ReportView } from '../../../report/view/schema.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import { ApiError } from '../../http/errors.ts';
import type { ScanPageDeps } from '../routes/deps.ts';
import { scanOf } from '../routes/scan.ts';
import { titledPage } from '../titled-page.ts';
import { partsOf } from '../views/scan-words.ts';
import { pageBody, pageTitle } from './page.ts';
import { pageList, readPageListQuery } from './pages.ts';
import { findingsReader } from './reader.ts';
import { readPageFindings } from './select.ts';

const VIEW_TIMEOUT_MS = 4_000;

const config = { permission: 'scans:read' } as const;

export const findingPages: FastifyPluginAsync<ScanPageDeps> = async (scope, deps) => {
  const { pictures } = deps;
  /** The scan of the path with its view. @throws ApiError if it has none */
  async function viewed(request: FastifyRequest): Promise<{ row: ScanRow; view: ReportView }> {
    const row = await scanOf(request);
    const view = row.reports !== null ? await withTimeLimit(pictures.readView(row), VIEW_TIMEOUT_MS, 'reading a view') : null;
    if (view === null) throw new ApiError('report_not_found');
    return { row, view };
  }

  const trailTo = ({ id, options }: ScanRow) => [
    { text: 'Scans', href: SCANS_PATH },
    { text: partsOf(options.url).host, href: scanPath(id) },
  ];

  scope.get(pagesPath(':id'), { config }, async (request, reply) => {
    const { row, view } = await viewed(request);
    const body = pageList(row.id, view, readPageListQuery(request.query as Record<string, unknown>));
    return reply.page(titledPage({ request, title: 'Pages of the scan', active: 'scans', trail: trailTo(row), body }));
  });

  scope.get<{ Params: { page: string } }>(pagePath(':id', ':page'), { config }, async (request, reply) => {
    const { row, view } = await viewed(request);
    const at = /^[1-9]\d{0,5}$/.test(request.params.page) ? Number(request.params.page) : 0;
    const page = view.pages[at - 1];
    // What was not tested has no findings: the list says why.
    if (!page?.tested) throw new ApiError('not_found');
    const findings = await readPageFindings(page.findings, findingsReader(deps, row));
    const data = { scanId: row.id, view, at, page, findings };
    const trail = [...trailTo(row), { text: 'Pages', href: pagesPath(row.id) }];
    return reply.page(titledPage({ request, title: pageTitle(data), active: 'scans', trail, body: pageBody(data) }));
  });
};
