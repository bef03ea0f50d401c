/** The ledger as CSV (RFC 4180), streamed in parts. */
import { readLedger, type LedgerMove } from '../../accounts/ledger-moves.ts';

/** Bounds the time and the work of one download. A longer ledger can be read over REST. */
export const CSV_ROWS_MAX = 50_000;
const PART = 500;

const COLUMNS = ['time', 'kind', 'pages', 'balance_after', 'scan_id', 'id'];

/** A field. A spreadsheet would run text that begins like a formula, so such text gets an apostrophe in front. */
export function csvField(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) || safe !== value ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const line = (fields: readonly (string | number)[]): string => `${fields.map(csvField).join(',')}\r\n`;

const rowOf = ({ at, kind, pages, balance, scanId, id }: LedgerMove): string =>
  line([at.toISOString(), kind, pages, balance, scanId ?? '', id]);

/** The lines of the ledger, newest first. Where it is cut, the last line says so. */
export async function* ledgerCsv(credits: Parameters<typeof readLedger>[0], rowsMax = CSV_ROWS_MAX): AsyncGenerator<string> {
  yield line(COLUMNS);
  let cursor: string | undefined;
  for (let rows = 0; rows < rowsMax;) {
    const { items, nextCursor } = await readLedger(credits, { limit: Math.min(PART, rowsMax - rows), cursor });
    rows += items.length;
    if (items.length > 0) yield items.map(rowOf).join('');
    if (nextCursor === null) return;
    cursor = nextCursor;
  }
  yield line([`The list is cut after ${rowsMax} rows. GET /v1/billing/ledger returns all.`]);
}
