/**
 * Follows up public scans that ended: queues their mails, and takes the request back from the limits if the scan failed through a fault of
 * ours. A scan stays in the store's list until its mail is queued, so that no crash loses one.
 */
import { failureKindOf, isTerminal } from '../../core/scan/phases.ts';
import { resultMailId } from '../../stores/outbox/mails.ts';
import { VISITOR_POLICIES, type PublicScan } from '../../stores/scans/public-scans.ts';
import type { CountedRequest, RateLimitLog } from '../../stores/rate-limits.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import { rowsOf } from '../../stores/scans/scans.ts';
import type { AllStores } from '../../stores/stores.ts';

export interface ResultMailContext {
  stores: Pick<AllStores, 'publicScans' | 'scans' | 'outbox' | 'rateLimits'>;
  /** Whether there is a mail server. If not, mails stay due until there is one. */
  mailed: boolean;
  now: () => Date;
}

const BATCH = 200;
/** A request takes at most 60 s. A public scan that has no row after this time never runs. */
const WITHOUT_ROW_MS = 3_600_000;

/** What to do about a public scan that has no mail yet. Pure. */
export function mailFor(scan: PublicScan, row: ScanRow | undefined, now: Date): 'queue' | 'none' | 'wait' {
  if (row === undefined) return now.getTime() - scan.createdAt.getTime() > WITHOUT_ROW_MS ? 'none' : 'wait';
  if (row.submission === 'abandoned') return 'none';
  return isTerminal(row.phase) ? 'queue' : 'wait';
}

/** Whether the visitor got nothing for the request through no fault of the page. Pure. @param row undefined: the scan never ran */
export function isOurFault(row: Pick<ScanRow, 'submission' | 'phase' | 'reason'> | undefined): boolean {
  if (row === undefined || row.submission === 'abandoned' || row.phase === 'canceled') return true;
  return row.phase === 'failed' && failureKindOf(row.reason) === 'ours';
}

/**
 * The logs from which a request is taken back that failed through a fault of ours. All of them if it sends no mail; else only those of the
 * visitor: while scans fail, anyone could send any number of mails to people who asked for none. Pure.
 */
export function refundedLogs({ logs }: CountedRequest, decision: 'queue' | 'none'): RateLimitLog[] {
  // Those of wider networks have names that begin alike.
  const visitor = Object.values(VISITOR_POLICIES);
  return logs.filter(({ policy }) => decision === 'none' || visitor.some((name) => policy.startsWith(name)));
}

export async function queueResultMails(context: ResultMailContext, signal: AbortSignal): Promise<void> {
  let batch: PublicScan[] = [];
  for await (const scan of context.stores.publicScans.unmailed()) {
    batch.push(scan);
    if (batch.length < BATCH) continue;
    await queueEnded(context, batch, signal);
    batch = [];
  }
  await queueEnded(context, batch, signal);
}

async function queueEnded({ stores, mailed, now }: ResultMailContext, batch: PublicScan[], signal: AbortSignal): Promise<void> {
  const { publicScans, scans, outbox, rateLimits } = stores;
  if (batch.length === 0) return;
  const ids = batch.map(({ scanId }) => scanId);
  const rows = await rowsOf(scans, ids);
  for (const scan of batch) {
    signal.throwIfAborted();
    const { scanId, email: to, locale, token, counted } = scan;
    const decision = mailFor(scan, rows.get(scanId), now());
    if (decision === 'wait') continue;
    if (counted !== undefined && isOurFault(rows.get(scanId))) await rateLimits.refund(refundedLogs(counted, decision), counted.hit);
    if (decision === 'queue') {
      if (!mailed) {
        if (counted !== undefined) await publicScans.forgetVisitor(token);
        continue;
      }
      await outbox.enqueue({ id: resultMailId(scanId), kind: 'scan_result', to, locale, data: { scanId } });
    }
    await publicScans.markMailed(token);
  }
}
