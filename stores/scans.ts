/** The read model of scans: one row a scan, mirrored from the custom resource; all that a GET ever reads. */
import type { Phase, Outcome, PageProgress, ReportObjects, ScanOptions } from '../core/scan.ts';

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

export interface Scans {
  /** Stores a new row (version 1). Storing the same id again changes nothing and returns the stored row. */
  create(row: Omit<ScanRow, 'version' | 'updatedAt'>): Promise<ScanRow>;
  /** The scan's custom resource exists. Idempotent. */
  accept(id: string): Promise<void>;
  /** Takes back a `pending` row whose submission did not succeed; an accepted row stays. True if it is gone. */
  discard(id: string): Promise<boolean>;
  /** The row, or null; with `organisation`, null also where it is another's. */
  find(id: string, organisation?: string): Promise<ScanRow | null>;
  /**
   * Applies a change in one guarded operation: a row in a terminal phase never changes, a phase never moves backwards
   * (core/phase.ts), page counts never fall. A change that changes nothing does not raise the version.
   * @returns the row as it is now, and whether this call changed it; null if there is no such row
   */
  mirror(id: string, change: ScanChange): Promise<{ row: ScanRow; changed: boolean } | null>;
  /** Rows still `pending` that were made before `before`, at most `limit`: what a crash between row and resource left. */
  abandoned(before: Date, limit: number): Promise<ScanRow[]>;
  /** Accepted rows not terminal, last changed before `before`, at most `limit`: to be compared with the resources that exist. */
  stale(before: Date, limit: number): Promise<ScanRow[]>;
  /** Terminal rows whose reports have outlived `before`, at most `limit`. */
  expired(before: Date, limit: number): Promise<ScanRow[]>;
  /** Forgets a terminal row and all that hangs on it in this store. */
  forget(id: string): Promise<void>;
}
