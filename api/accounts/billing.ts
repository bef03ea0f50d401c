/** The credit balance. */
import { type Static, Type } from 'typebox';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { callerOf } from '../http/plugins/auth.ts';
import { EXAMPLES } from '../http/examples.ts';
import { answer, KEYED, keyWith, LIMITED, reference, refusals } from '../http/responses.ts';
import type { Credits, LedgerEntry } from '../../stores/credits/credits.ts';
import { ValidationFailure } from '../http/errors.ts';
import { decodeCursor, INVALID_CURSOR, NEXT_CURSOR, pageOf, pageQuery, type Position } from '../http/pagination.ts';
import { growing, nullable } from '../../core/schemas.ts';
import { storesOf } from './scoped-stores.ts';

export const CreditBalance = Type.Object(
  {
    balance: Type.Integer({ minimum: 0, description: 'Credits that can be reserved now.' }),
    plan: Type.String(),
    setup_complete: Type.Boolean({ description: 'Whether the organisation has a live key and has ever been granted credits.' }),
  },
  { $id: 'CreditBalance' },
);

const GET_CREDITS = {
  operationId: 'getCredits',
  tags: ['Account'],
  summary: 'Get the credit balance',
  security: keyWith('credits:read'),
  response: {
    200: answer('The balance.', reference(CreditBalance), LIMITED, { balance: EXAMPLES.credits }),
    ...refusals(KEYED),
  },
};

export const billingRoutes: FastifyPluginAsyncTypebox = async (scope) => {
  scope.get('/v1/billing/credits', { config: { permission: 'credits:read' }, schema: GET_CREDITS }, async (request) => {
    const { organisation } = callerOf(request);
    const { balance, granted } = await scope.stores.credits.balance(organisation.id);
    // The live key is the one of this request.
    return { balance, plan: organisation.plan, setup_complete: granted > 0 };
  });
};

/** The movements of credits, as people and clients see them: an entry of the ledger may be two. */
export const LEDGER_KINDS = ['grant', 'reserve', 'settle', 'refund'] as const;
type LedgerKind = (typeof LEDGER_KINDS)[number];

export const LEDGER_KIND_MEANINGS: Readonly<Record<LedgerKind, string>> = {
  grant: 'credits were added.',
  reserve: 'credits were reserved for a scan.',
  settle: 'reserved credits were spent on tested pages, which does not change the balance again.',
  refund: 'reserved credits were released.',
};

export interface LedgerMove {
  id: string;
  at: Date;
  kind: LedgerKind;
  /** The number of credits. One credit is one page. */
  pages: number;
  /** The credits that could be reserved afterwards. */
  balance: number;
  /** Null for a grant. */
  scanId: string | null;
}

/** An item, and the entry that it is a part of. */
interface Part {
  item: LedgerMove;
  position: Position;
}

/**
 * Returns movements of an organisation, newest first.
 * @param credits those of the organisation
 * @throws ValidationFailure if the cursor is not one of this list
 */
export async function readLedger(
  credits: { ledger(page: Parameters<Credits['ledger']>[1]): Promise<LedgerEntry[]> },
  { limit, cursor }: { limit: number; cursor: string | undefined },
): Promise<{ items: LedgerMove[]; nextCursor: string | null }> {
  const after = placeOf(decodeCursor(cursor));
  // Reads the entry of the last item again, because its second part may be the next item.
  const entries = await credits.ledger({ before: after && after.sequence + 1, limit: limit + 2 });
  const parts = entries.flatMap(partsOf).filter(({ position }) => after === null || isAfter(position, after));
  const { items, nextCursor } = pageOf(parts, limit, ({ position }) => position);
  return { items: items.map(({ item }) => item), nextCursor };
}

/** The items of an entry, newest first. A settle is a refund of the unused pages after a settle of the tested ones. */
function partsOf(entry: LedgerEntry): Part[] {
  const { id, operation, scanId, at, sequence } = entry;
  const part = (index: number, kind: LedgerKind, pages: number, balance: number): Part => ({
    item: { id: kind === 'refund' ? `refund:${scanId}` : id, at, kind, pages, balance, scanId },
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

/** The route that lists every movement of an organisation's credits. */
const LedgerItem = Type.Object(
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

const Ledger = Type.Object({ data: Type.Array(reference(LedgerItem)), next_cursor: NEXT_CURSOR }, { $id: 'Ledger' });

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
