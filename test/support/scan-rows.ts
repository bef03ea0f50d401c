/** Scan rows for tests. */
import { randomUUID } from 'node:crypto';
import { withDefaults } from '../../core/scan/options.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';

/** A submitted scan of five pages, with overrides. */
export function scanRow(over: Partial<ScanRow> = {}): ScanRow {
  const id = over.id ?? randomUUID();
  return {
    id,
    organisation: 'acme',
    origin: 'api',
    resource: { namespace: 'curbcut', name: `scan-${id}` },
    submission: 'pending',
    options: withDefaults({ url: 'https://example.com/', thresholds: { minScore: 90 } }),
    pagesRequested: 5,
    pagesReserved: 0,
    phase: 'queued',
    version: 1,
    pages: { scanned: 0, failed: 0, total: 0 },
    outcome: null,
    passed: null,
    message: null,
    reports: null,
    createdAt: new Date(),
    updatedAt: new Date(),
    finishedAt: null,
    ...over,
  };
}
