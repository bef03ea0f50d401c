/**
 * Repairs what a crash between two steps left behind: rows without a resource, holds without a live scan, operations that
 * are not in the ledger. Every step is idempotent, so any number of replicas may sweep at any time.
 */
import { creditAccountOf, pagesToCharge } from '../../core/scan/cost.ts';
import { isTerminal } from '../../core/scan/phases.ts';
import type { Credits, Hold } from '../../stores/credits/credits.ts';
import type { ScanRow, Scans } from '../../stores/scans/scans.ts';
import type { Isolation } from './isolation.ts';

export interface SweepRequest {
  scans: Scans;
  credits: Credits;
  /** Returns whether a row's custom resource exists. @throws if this is unknown; the next sweep checks the row again */
  exists: (row: ScanRow) => Promise<boolean>;
  /** Rows created before this time and still pending belong to a submission that crashed or is very late. */
  pendingBefore: Date;
  /** The maximum number of pending rows per sweep. */
  limit: number;
  isolation: Isolation;
  /** Aborts when the replica stops or no longer leads. */
  signal: AbortSignal;
}

export interface Swept {
  /** Pending rows whose resource exists. */
  accepted: number;
  /** Pending rows whose scan will never run. */
  abandoned: number;
  /** Holds whose scan has ended or was abandoned. */
  settled: number;
  /** Operations copied to the ledger. */
  relayed: number;
}

const ROWS_PER_QUERY = 1_000;

/** Sweeps once. A repair that fails does not stop the others. @throws if the rows cannot be read; earlier repairs remain */
export async function sweep(request: SweepRequest): Promise<Swept> {
  const { scans, credits, isolation, signal } = request;
  const swept: Swept = { accepted: 0, abandoned: 0, settled: 0, relayed: 0 };
  await isolation.each(await scans.pending(request.pendingBefore, request.limit), fieldsOfRow, (row) => decide(row, request, swept));
  const fieldsOfHold = ({ scanId, organisation }: Hold) => ({ scan: scanId, organisation });
  await isolation.each(await settleable(request), fieldsOfHold, async ({ organisation, scanId, pages }) => {
    if ((await credits.settle(organisation, scanId, pages)).ok) swept.settled += 1;
  });
  signal.throwIfAborted();
  swept.relayed = await credits.relay();
  return swept;
}

/** The holds to settle, each with the pages to charge. Reads all holds, and then their rows, which were created before them. */
async function settleable({ credits, scans }: SweepRequest): Promise<Hold[]> {
  const holds = await credits.allHolds();
  const due: Hold[] = [];
  for (let at = 0; at < holds.length; at += ROWS_PER_QUERY) {
    const batch = holds.slice(at, at + ROWS_PER_QUERY);
    const rows = new Map((await scans.findMany(batch.map(({ scanId }) => scanId))).map((row) => [row.id, row]));
    for (const { organisation, scanId } of batch) {
      const pages = pagesDue(rows.get(scanId) ?? null);
      if (pages !== null) due.push({ organisation, scanId, pages });
    }
  }
  return due;
}

/** Decides a pending row, unless its submission or the operator does so first. */
async function decide(row: ScanRow, { scans, credits, exists, signal }: SweepRequest, swept: Swept): Promise<void> {
  const written = !isTerminal(row.phase) && (await exists(row));
  const hold = written ? (await credits.holds(creditAccountOf(row))).find(({ scanId }) => scanId === row.id) : undefined;
  signal.throwIfAborted();
  if (hold !== undefined) {
    const accepted = await scans.accept(row.id, { pagesReserved: hold.pages });
    if (accepted.ok && accepted.won) swept.accepted += 1;
    return;
  }
  const abandoned = await scans.abandon(row.id);
  if (!abandoned.ok || !abandoned.won) return;
  swept.abandoned += 1;
  if ((await credits.settle(creditAccountOf(row), row.id, 0)).ok) swept.settled += 1;
}

/** The pages to charge for a hold, given the row of its scan; null while the hold must stay. */
function pagesDue(row: ScanRow | null): number | null {
  // The row is created before the reservation, so it was removed, and the scan never runs.
  if (row === null || row.submission === 'abandoned') return 0;
  return isTerminal(row.phase) ? pagesToCharge(row, row.phase, row.outcome?.pages ?? row.pages) : null;
}

/** The log fields of a row. */
export function fieldsOfRow({ id, organisation, resource }: ScanRow): object {
  return { scan: id, organisation, namespace: resource.namespace };
}
