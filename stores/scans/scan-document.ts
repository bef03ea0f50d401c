/** A row as it is stored. */
import { pairText, readPair } from '../../core/scan/metadata.ts';
import { siteOf } from '../../core/scan/site.ts';
import type { NewRow, ScanRow } from './scan-row.ts';

/**
 * Its id is the document's id. Metadata is a list of `KEY=VALUE`, so that one index finds the scans with any pair, and because
 * keys may have dots, which mean nested fields to MongoDB.
 */
export type ScanDocument = Omit<ScanRow, 'id' | 'metadata'> & {
  _id: string;
  metadata?: string[];
  reportsRemoved?: true;
  /** Since its end, until its webhooks are in the queue. */
  unannounced?: true;
  /** Since its end, until it is in the list of sites. */
  unlisted?: true;
};

export function toRow({
  _id,
  metadata,
  reportsRemoved: _removed,
  unannounced: _unannounced,
  unlisted: _unlisted,
  ...rest
}: ScanDocument): ScanRow {
  return { id: _id, ...rest, ...(metadata && { metadata: Object.fromEntries(metadata.map((pair) => readPair(pair)!)) }) };
}

/** The document of a new row, with its site. */
export function toDocument({ id, metadata = {}, ...row }: NewRow): ScanDocument {
  const pairs = Object.entries(metadata).map(pairText);
  return {
    _id: id,
    ...row,
    ...(pairs.length > 0 && { metadata: pairs }),
    site: siteOf(row.options.url),
    version: 1,
    updatedAt: row.createdAt,
  };
}
