/** What of a requested change may be applied to a row: pure, so that the rules of movement are tested without a database. */
import { isDeepStrictEqual } from 'node:util';
import { isTerminal, mayMove } from '../../core/scan/phases.ts';
import type { PageProgress } from '../../core/scan/options.ts';
import type { ScanChange, ScanRow } from './scans.ts';

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
