/** Reads the rows of many scans. */
import type { ScanRow, Scans } from './scans.ts';

/** A command has a maximum size. */
const ROWS_PER_QUERY = 1_000;

/** Returns the rows of scans that have one, by ID. */
export async function rowsOf(scans: Pick<Scans, 'findMany'>, ids: readonly string[]): Promise<Map<string, ScanRow>> {
  const rows = new Map<string, ScanRow>();
  for (let at = 0; at < ids.length; at += ROWS_PER_QUERY)
    for (const row of await scans.findMany(ids.slice(at, at + ROWS_PER_QUERY))) rows.set(row.id, row);
  return rows;
}
