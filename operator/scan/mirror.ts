/** Mirrors a scan to its row and the message bus, and settles its credits at the end. Every step is idempotent. */
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { creditAccountOf, pagesToCharge } from '../../core/scan/counts.ts';
import { fromOutcomeStatus } from '../../core/scan/outcome.ts';
import type { Settlement } from '../../stores/credits/credits.ts';
import { reportKeys } from '../../report/schema/objects.ts';
import { ERASED, type ScanChange, type ScanRow } from '../../stores/scans/scans.ts';
import type { OperatorContext } from '../context.ts';
import { conditionOf } from '../runtime/conditions.ts';
import { phaseOf } from './policy/status.ts';

/** Changes a row and publishes the change. @returns the row; null if it does not exist */
export async function changeRow(
  { stores, bus }: OperatorContext,
  scanId: string,
  wanted: ScanChange,
  known?: ScanRow,
): Promise<ScanRow | null> {
  const mirrored = await stores.scans.mirror(scanId, wanted, known);
  if (mirrored === null) return null;
  const { row, changed } = mirrored;
  if (changed) bus.publishStatus(row.organisation, scanId);
  return row;
}

/** Settles, mirrors and publishes the end of a scan, as stated by its status. */
export async function finishRow(context: OperatorContext, scan: AccessibilityScan, scanId: string): Promise<void> {
  const { scans, credits } = context.stores;
  const row = await scans.find(scanId);
  // If the row belongs to another resource, this scan must not settle it.
  if (row === null || row.resource.name !== scan.metadata.name || row.resource.namespace !== scan.metadata.namespace) return;
  // Credits first, so that a client that sees the end of the scan also sees the right balance.
  const due = pagesToCharge(row, phaseOf(scan), scan.status?.pages);
  const settled = await credits.settle(creditAccountOf(row), scanId, due);
  const spent = spentBy(settled);
  // Its hold is unknown or was returned. A deleted scan was charged before.
  if (due > 0 && spent === 0 && row.organisation !== ERASED) {
    context.metrics.uncharged();
    const message = `${due} pages were tested, but the scan held no credits, so nothing was charged.`;
    context.recorder.event(scan, 'Warning', 'NotCharged', message);
  }
  // It ended before it was vetted. The API may have returned its ID, so that the sweeper must not abandon it.
  if (row.submission === 'pending' && (settled.ok || settled.reason === 'already_settled'))
    await scans.accept(scanId, { pagesReserved: settled.ok ? settled.spent + settled.released : row.pagesRequested });
  await changeRow(context, scanId, { ...endOf(scan, scanId), pagesCharged: spent }, row);
}

/** The credits that were spent on a scan. A settle that was repeated after a crash has spent them before. */
export const spentBy = (settled: Settlement): number => (settled.ok || settled.reason === 'already_settled' ? settled.spent : 0);

/** When the pod of a scan began, for its row; empty if it has not begun. */
export function startOf({ status }: Pick<AccessibilityScan, 'status'>): Pick<ScanChange, 'startedAt'> {
  return status?.startTime === undefined ? {} : { startedAt: new Date(status.startTime) };
}

/** Derives the end of a scan for its row from the status alone. */
export function endOf(scan: AccessibilityScan, scanId: string): ScanChange {
  const status = scan.status ?? {};
  const phase = phaseOf(scan);
  const end: ScanChange = {
    phase,
    passed: status.passed ?? null,
    message: status.message ?? null,
    ...(phase !== 'done' && { reason: conditionOf(status.conditions, 'Succeeded')?.reason }),
    ...startOf(scan),
    finishedAt: new Date(status.completionTime ?? 0),
  };
  const stored = status.reports?.stored;
  const outcome = fromOutcomeStatus(status);
  if (outcome === null || stored === undefined) {
    if (phase !== 'canceled' || status.pages === undefined) return end;
    const { scanned, failed } = status.pages;
    return { ...end, pages: { scanned, failed, total: scanned + failed } };
  }
  const keys = reportKeys(scanId);
  return {
    ...end,
    pages: outcome.pages,
    outcome,
    reports: { export: { key: keys.export, ...stored.export }, pdf: { key: keys.pdf, ...stored.pdf } },
  };
}
