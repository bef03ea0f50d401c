/** Subjects and messages on NATS. Messages may be lost: the stored state has the same information. */
import type { Phase } from '../scan/phases.ts';

/** The subject of the progress of one scan. Only the scan's pod may publish on it. */
export function progressSubject(scanId: string): string {
  return `progress.${scanId}`;
}

/** The progress of all scans. The operator subscribes to it. */
export const ALL_PROGRESS = 'progress.*';

/** The subject of the changes of one scan, which the operator publishes. Organisation IDs are `[a-z0-9-]`, so each is one token. */
export function statusSubject(organisation: string, scanId: string): string {
  return `status.${organisation}.${scanId}`;
}

/**
 * A change of a scan was stored. The message contains only the progress; for the result, read the stored scan, whose
 * version is at least `version`.
 */
export interface StatusMessage {
  scanId: string;
  /** Grows with every change of the scan. */
  version: number;
  phase: Phase;
  pages: { scanned: number; failed: number; total: number };
}
