/** The route that lists scans. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { PHASES } from '../../core/scan/phases.ts';
import { oneOf } from '../../core/schemas.ts';
import type { ScanRow, Scans } from '../../stores/scans/scans.ts';
import { EXAMPLES } from '../http/examples.ts';
import { decodeCursor, NEXT_CURSOR, pageOf, pageQuery } from '../http/pagination.ts';
import { callerOf } from '../http/plugins/auth.ts';
import { answer, KEYED, keyWith, LIMITED, reference, refusals } from '../http/responses.ts';
import { ScanResult, toResult } from './scans.ts';

const { queue: _, ...resultFields } = ScanResult.properties;

/** A scan result with what tells scans apart, and without its position, which changes with each scan. */
export const ListedScan = Type.Object(
  {
    ...resultFields,
    url: Type.String({ description: 'The address at which the scan starts.' }),
    submitted_at: Type.String({ format: 'date-time' }),
  },
  { $id: 'ListedScan' },
);
export const ScanList = Type.Object({ data: Type.Array(reference(ListedScan)), next_cursor: NEXT_CURSOR }, { $id: 'ScanList' });

const toListed = (row: ScanRow) => ({ ...toResult(row), url: row.options.url, submitted_at: row.createdAt.toISOString() });

const LIST_SCANS = {
  operationId: 'listScans',
  tags: ['Scans'],
  summary: 'List scans',
  description:
    'Returns the scans of the organisation, newest first, regardless of who submitted them. Scans that start between two requests do not ' +
    'move the following pages.',
  security: keyWith('scans:read'),
  querystring: pageQuery({ status: Type.Optional(oneOf(PHASES, { description: 'Only scans with this status.' })) }),
  response: {
    200: answer('The scans.', reference(ScanList), LIMITED, { scans: EXAMPLES.scans }),
    ...refusals(KEYED, { limited: true, validated: true }),
  },
};

export const scanListRoutes: FastifyPluginAsyncTypebox<{ scans: Pick<Scans, 'list'> }> = async (scope, { scans }) => {
  scope.get('/v1/ci/scans', { config: { permission: 'scans:read' }, schema: LIST_SCANS }, async (request) => {
    const { limit, cursor, status } = request.query;
    const page = { phase: status, after: decodeCursor(cursor), limit: limit + 1 };
    const found = await scans.list(callerOf(request).organisation.id, page);
    const { items, nextCursor } = pageOf(found, limit, ({ createdAt, id }) => ({ at: createdAt, id }));
    return { data: items.map(toListed), next_cursor: nextCursor };
  });
};
