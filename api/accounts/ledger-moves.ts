/** The movements of credits, as people and clients see them: an entry of the ledger may be two. */
import type { Credits, LedgerEntry } from '../../stores/credits/credits.ts';
import { ValidationFailure } from '../http/errors.ts';
import { decodeCursor, INVALID_CURSOR, pageOf, type Position } from '../http/pagination.ts';

export const LEDGER_KINDS = ['grant', 'reserve', 'settle', 'refund'] as const;
export type LedgerKind = (typeof LEDGER_KINDS)[number];

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
