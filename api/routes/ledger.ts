/** The route that lists every movement of an organisation's credits. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type, type Static } from 'typebox';
import { nullable } from '../../core/schemas.ts';
import type { Credits, LedgerEntry } from '../../stores/credits/credits.ts';
import { ValidationFailure } from '../errors.ts';
import { EXAMPLES } from '../examples.ts';
import { decodeCursor, INVALID_CURSOR, NEXT_CURSOR, pageOf, pageQuery, type Position } from '../pagination.ts';
import { callerOf } from '../plugins/auth.ts';
import { answer, growing, KEYED, keyWith, LIMITED, reference, refusals } from '../responses.ts';

export const LedgerItem = Type.Object(
  {
    id: Type.String(),
    at: Type.String({ format: 'date-time' }),
    kind: growing(['grant', 'reserve', 'settle', 'refund'], {
      description:
        '`grant`: credits were added. `reserve`: credits were reserved for a scan. `settle`: reserved credits were spent on tested ' +
        'pages, which does not change the balance again. `refund`: reserved credits were released.',
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
    ...refusals(KEYED, { limited: true, validated: true }),
  },
};

/** An item, and the entry that it is a part of. */
interface Part {
  item: LedgerItem;
  position: Position;
}

export const ledgerRoutes: FastifyPluginAsyncTypebox<{ credits: Pick<Credits, 'ledger'> }> = async (scope, { credits }) => {
  scope.get('/v1/billing/ledger', { config: { permission: 'credits:read' }, schema: GET_LEDGER }, async (request) => {
    const { limit, cursor } = request.query;
    const after = placeOf(decodeCursor(cursor));
    // Reads the entry of the last item again, because its second part may be the next item.
    const page = { before: after && after.sequence + 1, limit: limit + 2 };
    const entries = await credits.ledger(callerOf(request).organisation.id, page);
    const parts = entries.flatMap(partsOf).filter(({ position }) => after === null || isAfter(position, after));
    const { items, nextCursor } = pageOf(parts, limit, ({ position }) => position);
    return { data: items.map(({ item }) => item), next_cursor: nextCursor };
  });
};

/** The items of an entry, newest first. A settle is a refund of the unused pages after a settle of the tested ones. */
function partsOf(entry: LedgerEntry): Part[] {
  const { id, operation, scanId, at, sequence } = entry;
  const part = (index: number, kind: LedgerItem['kind'], pages: number, balance: number): Part => ({
    item: { id: kind === 'refund' ? `refund:${scanId}` : id, at: at.toISOString(), kind, pages, balance, scan_id: scanId },
    position: { at, id: `${sequence}.${index}` },
  });
  if (operation !== 'settle') return [part(0, operation, entry.pages, entry.balance)];
  const settle = part(0, 'settle', entry.pages, entry.balance - entry.released);
  const refund = part(1, 'refund', entry.released, entry.balance);
  return [refund, settle].filter(({ item }) => item.pages > 0);
}

interface Place {
  sequence: number;
  index: number;
}

/** @throws ValidationFailure if the cursor is of another list */
function placeOf(position: Position | null): Place | null {
  if (position === null) return null;
  const [, sequence, index] = /^(\d{1,15})\.([01])$/.exec(position.id) ?? [];
  if (sequence === undefined) throw new ValidationFailure([INVALID_CURSOR]);
  return { sequence: Number(sequence), index: Number(index) };
}

function isAfter(position: Position, after: Place): boolean {
  const { sequence, index } = placeOf(position)!;
  return sequence < after.sequence || (sequence === after.sequence && index < after.index);
}
