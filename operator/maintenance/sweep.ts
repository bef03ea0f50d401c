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
  /** Returns whether a row's custom resource exists. @throws if this is unknown; the next sweep checks the row again */
  exists: (row: ScanRow) => Promise<boolean>;
  /** Pending rows created before this time were abandoned. It must be well past the deadline of any reservation. */
  pendingBefore: Date;
  /** The maximum number of pending rows per sweep. */
  limit: number;
}

export interface Swept {
  /** Pending rows whose resource exists. */
  accepted: number;
  /** Pending rows without a resource. */
  discarded: number;
  /** Holds whose scan has ended or was discarded. */
  settled: number;
  /** Operations copied to the ledger. */
  relayed: number;
}

/** Sweeps once. @throws the first error of a store; earlier repairs remain */
export async function sweep({ scans, credits, organisations, exists, pendingBefore, limit }: SweepRequest): Promise<Swept> {
  const swept: Swept = { accepted: 0, discarded: 0, settled: 0, relayed: 0 };
  for (const row of await scans.abandoned(pendingBefore, limit)) {
    if (await exists(row)) {
      await scans.accept(row.id);
      swept.accepted += 1;
      continue;
    }
    // Credits first: after a crash between the two, the row still identifies the hold.
    if (await credits.settle(row.organisation, row.id, 0)) swept.settled += 1;
    if (await scans.discard(row.id)) swept.discarded += 1;
  }
  for (const { id: organisation } of await organisations.list()) {
    for (const { scanId } of await credits.holds(organisation)) {
      const row = await scans.find(scanId);
      // A hold without a row belongs to a discarded row, because the row is created before the reservation.
      if (row !== null && !isTerminal(row.phase)) continue;
      if (await credits.settle(organisation, scanId, row === null ? 0 : pagesToCharge(row.phase, row.outcome?.pages))) swept.settled += 1;
    }
  }
  swept.relayed = await credits.relay();
  return swept;
}
