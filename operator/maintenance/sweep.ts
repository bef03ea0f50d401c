/**
 * Repairs what a crash between two steps left behind: rows without a resource, holds without a live scan, operations that
 * are not in the ledger. Every step is idempotent, so any number of replicas may sweep at any time.
 */
import { pagesToCharge } from '../../core/scan/cost.ts';
import { isTerminal } from '../../core/scan/phases.ts';
import type { Credits } from '../../stores/credits/credits.ts';
import type { Organisations } from '../../stores/accounts/organisations.ts';
import type { ScanRow, Scans } from '../../stores/scans/scans.ts';

export interface SweepRequest {
  scans: Scans;
  credits: Credits;
  organisations: Organisations;
  /** Whether a row's custom resource exists. @throws when that cannot be told: the row is then left for the next sweep */
  exists: (row: ScanRow) => Promise<boolean>;
  /** Rows that are still pending and older than this were given up by their submitter: some minutes, well past any reserve's deadline. */
  pendingBefore: Date;
  /** The most pending rows that one sweep looks at. */
  limit: number;
}

export interface Swept {
  /** Pending rows whose resource exists after all. */
  accepted: number;
  /** Pending rows without a resource. */
  discarded: number;
  /** Holds whose scan has ended or never came to be. */
  settled: number;
  /** Operations copied to the ledger. */
  relayed: number;
}

/** Sweeps once. @throws the first error of a store; what was repaired until then stays repaired */
export async function sweep({ scans, credits, organisations, exists, pendingBefore, limit }: SweepRequest): Promise<Swept> {
  const swept: Swept = { accepted: 0, discarded: 0, settled: 0, relayed: 0 };
  for (const row of await scans.abandoned(pendingBefore, limit)) {
    if (await exists(row)) {
      await scans.accept(row.id);
      swept.accepted += 1;
      continue;
    }
    // The credits first: without its row nobody would know what the hold was for until the step below.
    if (await credits.settle(row.organisation, row.id, 0)) swept.settled += 1;
    if (await scans.discard(row.id)) swept.discarded += 1;
  }
  for (const { id: organisation } of await organisations.list()) {
    for (const { scanId } of await credits.holds(organisation)) {
      const row = await scans.find(scanId);
      // No row: it was discarded, for credits are never reserved before the row exists.
      if (row !== null && !isTerminal(row.phase)) continue;
      if (await credits.settle(organisation, scanId, row === null ? 0 : pagesToCharge(row.phase, row.outcome?.pages))) swept.settled += 1;
    }
  }
  swept.relayed = await credits.relay();
  return swept;
}
