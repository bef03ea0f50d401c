/** A row as it is stored. */
import type { ScanRow } from './scan-row.ts';

/** Its id is the document's id. */
export type ScanDocument = Omit<ScanRow, 'id'> & { _id: string; reportsRemoved?: true };

export function toRow({ _id, reportsRemoved: _removed, ...rest }: ScanDocument): ScanRow {
  return { id: _id, ...rest };
}
