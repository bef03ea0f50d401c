/** Subjects and messages on NATS. All of it may be lost without harm: the stored state says the same. */
import type { Phase } from '../scan/phases.ts';

/** Where one scan's pod speaks, and nobody else may. */
export function progressSubject(scanId: string): string {
  return `progress.${scanId}`;
}

/** Every pod's progress: what the operator listens to. */
export const ALL_PROGRESS = 'progress.*';

/** Where the operator tells of every change of one scan. Organisation ids are `[a-z0-9-]`, so they are one token. */
export function statusSubject(organisation: string, scanId: string): string {
  return `status.${organisation}.${scanId}`;
}

/**
 * A change of a scan was stored. It carries no result: whoever needs more than the progress reads the stored scan,
 * which is at least at `version`.
 */
export interface StatusMessage {
  scanId: string;
  /** Grows with every change of the scan. */
  version: number;
  phase: Phase;
  pages: { scanned: number; failed: number; total: number };
}
