/** The route that lists every movement of an organisation's credits. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type, type Static } from 'typebox';
import { growing, nullable } from '../../core/schemas.ts';
import { EXAMPLES } from '../http/examples.ts';
import { LEDGER_KIND_MEANINGS, LEDGER_KINDS, readLedger, type LedgerMove } from './ledger-moves.ts';
import { NEXT_CURSOR, pageQuery } from '../http/pagination.ts';
import { answer, KEYED, keyWith, LIMITED, reference, refusals } from '../http/responses.ts';
import { storesOf } from './scoped-stores.ts';

export const LedgerItem = Type.Object(
  {
    id: Type.String(),
    at: Type.String({ format: 'date-time' }),
    kind: growing(LEDGER_KINDS, {
      description: LEDGER_KINDS.map((kind) => `\`${kind}\`: ${LEDGER_KIND_MEANINGS[kind]}`).join(' '),
    }),
    pages: Type.Integer({ minimum: 1, description: 'The number of credits. One credit is one page.' }),
    balance: Type.Integer({ minimum: 0, description: 'The credits that could be reserved afterwards.' }),
    scan_id: nullable(Type.String({ format: 'uuid', description: 'Null for a grant.' })),
  },
  { $id: 'LedgerItem' },
);
type LedgerItem = Static<typeof LedgerItem>;

export const Ledger = Type.Object({ data: Type.Array(reference(LedgerItem)), next_cursor: NEXT_CURSOR }, { $id: 'Ledger' });

const GET_LEDGER = {
  operationId: 'getLedger',
  tags: ['Account'],
  summary: 'List the movements of credits',
  description:
    'Returns every movement since the first grant, newest first. The end of a scan is one `settle` for its tested pages and one ' +
    '`refund` for the others.',
  security: keyWith('credits:read'),
  querystring: pageQuery({}),
  response: {
    200: answer('The movements.', reference(Ledger), LIMITED, { ledger: EXAMPLES.ledger }),
    ...refusals(KEYED),
  },
};

export const ledgerRoutes: FastifyPluginAsyncTypebox = async (scope) => {
  scope.get('/v1/billing/ledger', { config: { permission: 'credits:read' }, schema: GET_LEDGER }, async (request) => {
    const { limit, cursor } = request.query;
    const { items, nextCursor } = await readLedger(storesOf(request).credits, { limit, cursor });
    return { data: items.map(toItem), next_cursor: nextCursor };
  });
};

const toItem = ({ id, at, kind, pages, balance, scanId }: LedgerMove): LedgerItem => ({
  id,
  at: at.toISOString(),
  kind,
  pages,
  balance,
  scan_id: scanId,
});
