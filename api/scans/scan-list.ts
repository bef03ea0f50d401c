/** The route that lists scans. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import type { preValidationHookHandler } from 'fastify';
import { Metadata } from '../../core/scan/metadata-schema.ts';
import { PHASES } from '../../core/scan/phases.ts';
import { URL_MAX_LENGTH } from '../../core/scan/targets.ts';
import { siteOf } from '../../core/scan/site.ts';
import { oneOf } from '../../core/schemas.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { EXAMPLES } from '../http/examples.ts';
import { decodeCursor, encodeCursor, NEXT_CURSOR, pageQuery } from '../http/pagination.ts';
import { callerOf } from '../http/plugins/auth.ts';
import { answer, KEYED, keyWith, LIMITED, reference, refusals } from '../http/responses.ts';
import { ScanResult } from '../../core/scan/result.ts';
import { toResult } from './scans.ts';

const { queue: _queue, options: _options, ...resultFields } = ScanResult.properties;

/** A scan result without its position, which changes with each scan, and its options, which may be long. */
export const ListedScan = Type.Object(resultFields, { $id: 'ListedScan' });
export const ScanList = Type.Object({ data: Type.Array(reference(ListedScan)), next_cursor: NEXT_CURSOR }, { $id: 'ScanList' });

/** A row as an item of a list. */
export function toListed(row: ScanRow): Static<typeof ListedScan> {
  const { queue: _queue, options: _options, ...listed } = toResult(row);
  return listed;
}

const LIST_SCANS = {
  operationId: 'listScans',
  tags: ['Scans'],
  summary: 'List scans',
  description:
    'Returns the scans of the organisation, newest first, regardless of who submitted them. Scans that start between two requests do not ' +
    'move the following pages. With several filters a page may have fewer scans than `limit`, or none, and still a `next_cursor`.',
  security: keyWith('scans:read'),
  querystring: pageQuery({
    status: Type.Optional(oneOf(PHASES, { description: 'Only scans with this status.' })),
    site: Type.Optional(
      Type.String({
        maxLength: URL_MAX_LENGTH,
        description: 'Only scans of this host, such as `www.example.com`; with its port if that is not the default.',
      }),
    ),
    passed: Type.Optional(Type.Boolean({ description: 'True: only scans that met every threshold. False: only scans that did not.' })),
    since: Type.Optional(Type.String({ format: 'date-time', description: 'Only scans that were submitted at this time or later.' })),
    until: Type.Optional(Type.String({ format: 'date-time', description: 'Only scans that were submitted before this time.' })),
    metadata: Type.Optional(
      Type.Unsafe<Metadata>({
        ...Metadata,
        description: 'As `metadata.KEY=VALUE`, such as `metadata.branch=main`: only scans with this pair. Several must all be met.',
      }),
    ),
  }),
  response: {
    200: answer('The scans.', reference(ScanList), LIMITED, { scans: EXAMPLES.scans }),
    ...refusals(KEYED),
  },
};

export const scanListRoutes: FastifyPluginAsyncTypebox = async (scope) => {
  scope.get(
    '/v1/ci/scans',
    { config: { permission: 'scans:read' }, schema: LIST_SCANS, preValidation: spreadQuery('metadata') },
    async (request) => {
      const { limit, cursor, status, site, passed, since, until, metadata } = request.query;
      const { rows, next } = await scope.stores.scans.search(callerOf(request).organisation.id, {
        ...(status !== undefined && { phases: [status] }),
        ...(site !== undefined && { site: siteOf(`https://${site}`) || site }),
        ...(passed !== undefined && { verdict: passed ? 'passed' : 'missed' }),
        ...(since !== undefined && { since: new Date(since) }),
        ...(until !== undefined && { until: new Date(until) }),
        metadata,
        after: decodeCursor(cursor),
        limit,
      });
      return { data: rows.map(toListed), next_cursor: next && encodeCursor(next) };
    },
  );
};

/**
 * Collects the parameters `NAME.KEY` of a request as the fields of `NAME`, before the validation. A parameter `NAME` without a key stays
 * as it is, so that the validation rejects it.
 */
function spreadQuery(name: string): preValidationHookHandler {
  const prefix = `${name}.`;
  return (request, _reply, done) => {
    const entries = Object.entries(request.query as Record<string, unknown>);
    const spread = entries.filter(([key]) => key.startsWith(prefix)).map(([key, value]) => [key.slice(prefix.length), value] as const);
    if (spread.length > 0)
      request.query = { [name]: Object.fromEntries(spread), ...Object.fromEntries(entries.filter(([key]) => !key.startsWith(prefix))) };
    done();
  };
}
