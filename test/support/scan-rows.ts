/** Scan rows for tests. */
import { randomUUID } from 'node:crypto';
import { withDefaults } from '../../core/scan/options.ts';
import { siteOf } from '../../core/scan/site.ts';
import { newRow, optionsKeyOf, type ScanRow } from '../../stores/scans/scan-row.ts';

/** A submitted scan of five pages, with overrides. */
export function scanRow(over: Partial<ScanRow> = {}): ScanRow {
  const id = over.id ?? randomUUID();
  const row = {
    ...newRow({
      id,
      organisation: 'acme',
      origin: 'api',
      resource: { namespace: 'curbcut', name: `scan-${id}` },
      submission: 'pending',
      options: withDefaults({ url: 'https://example.com/', thresholds: { minScore: 90 } }),
      createdAt: new Date(),
    }),
    version: 1,
    updatedAt: new Date(),
    ...over,
  };
  return { site: siteOf(row.options.url), ...row, optionsKey: over.optionsKey ?? optionsKeyOf(row) };
}
