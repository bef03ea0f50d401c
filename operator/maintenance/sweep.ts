/**
 * Repairs what a crash between two steps left behind: rows without a resource, holds without a live scan, operations that
 * are not in the ledger. Every step is idempotent, so any number of replicas may sweep at any time.
 */
import { creditAccountOf, pagesToCharge } from '../../core/scan/counts.ts';
import { isTerminal } from '../../core/scan/phases.ts';
import type { Credits, Hold } from '../../stores/credits/credits.ts';
import type { ScanRow, Scans } from '../../stores/scans/scans.ts';
import { rowsOf } from '../../stores/scans/scans.ts';
import type { Logger } from '../../platform/logger.ts';
import { hasCode } from '../../platform/kubernetes/kubernetes.ts';

export const REPAIRS = [
  /** Pending rows whose resource exists. */
  'accepted',
  /** Pending rows whose scan will never run. */
  'abandoned',
  /** Holds whose scan has ended or was abandoned. */
  'settled',
  'relayed',
  /** Live rows whose resource is gone, or is not watched any more. */
  'orphaned',
  'expired',
  'erased',
  'forgotten',
  /** Tokens of public scans that were removed, with their e-mail addresses. */
  'tokens',
  'removed',
  /** Scans whose needless uploads were removed. */
  'uploads',
  /** Repairs that failed. The next sweep retries them. */
  'failed',
  /** Repairs that the API server did not permit, because the namespace is not readable. */
  'unreadable',
] as const;
export type SweepResult = Record<(typeof REPAIRS)[number], number>;

export type Run = ReturnType<typeof createRun>;

/** One sweep: what it has repaired so far, and how it runs its repairs. @param signal aborts when the replica stops or no longer leads */
export function createRun(logger: Logger, signal: AbortSignal) {
  const result = Object.fromEntries(REPAIRS.map((name) => [name, 0])) as SweepResult;
  return {
    result,
    signal,
    /** Repairs the items one by one, so that one that fails does not stop the others. @throws the signal's reason if it aborts */
    async each<T>(items: readonly T[], fieldsOf: (item: T) => object, repair: (item: T) => Promise<void>): Promise<void> {
      for (const item of items) {
        signal.throwIfAborted();
        try {
          await repair(item);
        } catch (error) {
          signal.throwIfAborted();
          const forbidden = hasCode(error, 401, 403);
          result[forbidden ? 'unreadable' : 'failed'] += 1;
          logger[forbidden ? 'debug' : 'warn']({ ...fieldsOf(item), err: error }, 'sweep cannot repair, retrying with the next sweep');
        }
      }
    },
  };
}

export interface SweepDeps {
  scans: Scans;
  credits: Credits;
  /** Returns whether a row's custom resource exists. @throws if this is unknown; the next sweep checks the row again */
  exists: (row: ScanRow) => Promise<boolean>;
  /** Rows created before this time and still pending belong to a submission that crashed or is very late. */
  pendingBefore: Date;
  limit: number;
}

/** Sweeps once. A repair that fails does not stop the others. @throws if the rows cannot be read; earlier repairs remain */
export async function sweep(deps: SweepDeps, run: Run): Promise<void> {
  const { scans, credits } = deps;
  await run.each(await scans.pending(deps.pendingBefore, deps.limit), fieldsOfRow, (row) => decide(row, deps, run));
  const fieldsOfHold = ({ scanId, organisation }: Hold) => ({ scan: scanId, organisation });
  await run.each(await settleable(deps), fieldsOfHold, async ({ organisation, scanId, pages }) => {
    if ((await credits.settle(organisation, scanId, pages)).ok) run.result.settled += 1;
  });
  run.signal.throwIfAborted();
  run.result.relayed = await credits.relay();
}

/** The holds to settle, each with the pages to charge. Reads all holds, and then their rows, which were created before them. */
async function settleable({ credits, scans }: SweepDeps): Promise<Hold[]> {
  const holds = await credits.allHolds();
  const ids = holds.map(({ scanId }) => scanId);
  const rows = await rowsOf(scans, ids);
  return holds.flatMap(({ organisation, scanId }) => {
    const pages = pagesDue(rows.get(scanId) ?? null);
    return pages === null ? [] : [{ organisation, scanId, pages }];
  });
}

/** Decides a pending row, unless its submission or the operator does so first. */
async function decide(row: ScanRow, { scans, credits, exists }: SweepDeps, { result, signal }: Run): Promise<void> {
  const written = !isTerminal(row.phase) && (await exists(row));
  const hold = written ? (await credits.holds(creditAccountOf(row))).find(({ scanId }) => scanId === row.id) : undefined;
  signal.throwIfAborted();
  if (hold !== undefined) {
    const accepted = await scans.accept(row.id, { pagesReserved: hold.pages });
    if (accepted.ok && accepted.won) result.accepted += 1;
    return;
  }
  const abandoned = await scans.abandon(row.id);
  if (!abandoned.ok || !abandoned.won) return;
  result.abandoned += 1;
  if ((await credits.settle(creditAccountOf(row), row.id, 0)).ok) result.settled += 1;
}

/** The pages to charge for a hold, given the row of its scan; null while the hold must stay. */
function pagesDue(row: ScanRow | null): number | null {
  // The row is created before the reservation, so it was removed, and the scan never runs.
  if (row === null || row.submission === 'abandoned') return 0;
  return isTerminal(row.phase) ? pagesToCharge(row, row.phase, row.outcome?.pages ?? row.pages) : null;
}

export function fieldsOfRow({ id, organisation, resource }: ScanRow): object {
  return { scan: id, organisation, namespace: resource.namespace };
}
