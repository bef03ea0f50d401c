/** A row of the read model, and the rules by which it may change: pure, so that they are tested without a database. */
import { isDeepStrictEqual } from 'node:util';
import type { Outcome } from '../../core/scan/outcome.ts';
import type { PageProgress } from '../../core/scan/counts.ts';
import type { ReportObjects } from '../../core/report/objects.ts';
import type { ScanOptions } from '../../core/scan/options.ts';
import { isTerminal, mayMove, type Phase } from '../../core/scan/phases.ts';

export interface ScanRow {
  /** Scan id, a UUID. */
  id: string;
  organisation: string;
  /** `api`: submitted over HTTP, the resource is ours; `manifest`: applied by somebody's hands or GitOps. */
  origin: 'api' | 'manifest';
  resource: { namespace: string; name: string };
  /** `pending` until its custom resource is known to exist. A pending row is swept when its submitter died. */
  submission: 'pending' | 'accepted';
  options: ScanOptions;
  pagesRequested: number;
  /** Credits held for it; 0 until they are reserved. */
  pagesReserved: number;
  phase: Phase;
  /** Grows by one with every change that a reader can see. */
  version: number;
  pages: PageProgress;
  /** Present once the scan is done. */
  outcome: Outcome | null;
  passed: boolean | null;
  message: string | null;
  reports: ReportObjects | null;
  createdAt: Date;
  updatedAt: Date;
  finishedAt: Date | null;
}

/** What may change of a row. Absent: unchanged. */
export type ScanChange = Partial<
  Pick<ScanRow, 'phase' | 'pages' | 'outcome' | 'passed' | 'message' | 'reports' | 'finishedAt' | 'pagesReserved'>
>;

/**
 * The fields of a row that a change really changes: nothing of a row in a terminal phase, never a phase backwards, page
 * counts only upwards, and no field that holds the value already.
 * @returns null where nothing changes
 */
export function changedFields(row: ScanRow, change: ScanChange): ScanChange | null {
  if (isTerminal(row.phase)) return null;
  const wanted: ScanChange = { ...change };
  if (wanted.phase !== undefined && !mayMove(row.phase, wanted.phase)) delete wanted.phase;
  if (wanted.pages !== undefined) wanted.pages = farthest(row.pages, wanted.pages);
  const changed = Object.entries(wanted).filter(
    ([field, value]) => value !== undefined && !isDeepStrictEqual(value, row[field as keyof ScanChange]),
  );
  return changed.length === 0 ? null : (Object.fromEntries(changed) as ScanChange);
}

function farthest(now: PageProgress, then: PageProgress): PageProgress {
  return {
    scanned: Math.max(now.scanned, then.scanned),
    failed: Math.max(now.failed, then.failed),
    total: Math.max(now.total, then.total),
  };
}
