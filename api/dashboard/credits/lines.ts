/** The ledger as the page of credits shows it: one line for each grant and scan. */
import type { LedgerEntry, LedgerPage } from '../../../stores/credits/ledger.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import type { ScopedStores } from '../../accounts/scoped-stores.ts';
import { ValidationFailure } from '../../http/errors.ts';
import { decodeCursor, INVALID_CURSOR, pageOf, type Position } from '../../http/pagination.ts';

export const LINE_KINDS = ['granted', 'reserved', 'spent', 'released'] as const;
export type LineKind = (typeof LINE_KINDS)[number];

export interface LedgerLine {
  at: Date;
  kind: LineKind;
  /** The credits that the organisation has more, or less if negative. */
  change: number;
  /** The credits that were reserved for a scan that has ended. */
  reserved: number;
  /** The credits that could be reserved afterwards. */
  available: number;
  /** The ID of the grant; null for a scan. */
  grant: string | null;
  scanId: string | null;
  /** Null if the scan is not stored any more. */
  scan: ScanRow | null;
}

/**
 * Returns a part of the ledger, newest first. A scan is at the place of its settle, and until then at that of its reserve.
 * @throws ValidationFailure if the cursor is not one of this list
 */
export async function readLines(
  { credits, scans }: { credits: { ledger(page: LedgerPage): Promise<LedgerEntry[]> }; scans: Pick<ScopedStores['scans'], 'findMany'> },
  { limit, cursor }: { limit: number; cursor: string | undefined },
): Promise<{ lines: LedgerLine[]; nextCursor: string | null }> {
  const found = await credits.ledger({ before: sequenceOf(decodeCursor(cursor)), perScan: true, limit: limit + 1 });
  const { items, nextCursor } = pageOf(found, limit, ({ at, sequence }) => ({ at, id: String(sequence) }));
  const ids = items.flatMap(({ scanId }) => scanId ?? []);
  const rows = new Map(ids.length === 0 ? [] : (await scans.findMany(ids)).map((row) => [row.id, row]));
  return { lines: items.map((entry) => lineOf(entry, rows.get(entry.scanId ?? '') ?? null)), nextCursor };
}

/** @throws ValidationFailure if the cursor is of another list */
function sequenceOf(position: Position | null): number | null {
  if (position === null) return null;
  if (!/^\d{1,15}$/.test(position.id)) throw new ValidationFailure([INVALID_CURSOR]);
  return Number(position.id);
}

function lineOf({ id, at, operation, scanId, pages, released, balance }: LedgerEntry, scan: ScanRow | null): LedgerLine {
  const shared = { at, reserved: pages + released, available: balance, scanId, scan };
  if (operation === 'grant') return { ...shared, kind: 'granted', change: pages, grant: id.replace(/^grant:/, '') };
  const kind = operation === 'reserve' ? 'reserved' : pages > 0 ? 'spent' : 'released';
  return { ...shared, kind, change: -pages, grant: null };
}
