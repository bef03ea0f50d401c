/**
 * Follows up public scans that ended: queues their mails, and takes the request back from the limits if the scan failed through a fault of
 * ours. A scan stays in the store's list until its mail is queued, so that no crash loses one.
 */
import { failureKindOf, isTerminal } from '../../core/scan/phases.ts';
import { resultMailId, type Outbox } from '../../stores/outbox/outbox.ts';
import { VISITOR_POLICIES, type PublicScan, type PublicScans } from '../../stores/scans/public-scans.ts';
import type { CountedRequest, RateLimitLog, RateLimits } from '../../stores/rate-limits.ts';
import type { ScanRow, Scans } from '../../stores/scans/scans.ts';
import { rowsOf } from '../../stores/scans/rows-of.ts';
import type { PeriodicTask } from '../../platform/periodic.ts';

export interface ResultMailDeps {
  publicScans: Pick<PublicScans, 'unmailed' | 'markMailed' | 'forgetVisitor'>;
  scans: Pick<Scans, 'findMany'>;
  /** Null: there is no mail server. Mails then stay due until there is one. */
  outbox: Pick<Outbox, 'enqueue'> | null;
  rateLimits: Pick<RateLimits, 'refund'>;
  now: () => Date;
}

const EVERY_MS = 2_000;
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
  const visitor: readonly string[] = Object.values(VISITOR_POLICIES);
  return logs.filter(({ policy }) => decision === 'none' || visitor.includes(policy));
}

/** Creates the leader's task. */
export function createResultMailTask(deps: ResultMailDeps): PeriodicTask {
  return {
    name: 'queue result mails',
    everyMs: EVERY_MS,
    async run(signal) {
      let batch: PublicScan[] = [];
      for await (const scan of deps.publicScans.unmailed()) {
        batch.push(scan);
        if (batch.length < BATCH) continue;
        await queueEnded(deps, batch, signal);
        batch = [];
      }
      await queueEnded(deps, batch, signal);
    },
  };
}

async function queueEnded(
  { publicScans, scans, outbox, rateLimits, now }: ResultMailDeps,
  batch: PublicScan[],
  signal: AbortSignal,
): Promise<void> {
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
      if (outbox === null) {
        if (counted !== undefined) await publicScans.forgetVisitor(token);
        continue;
      }
      await outbox.enqueue({ id: resultMailId(scanId), kind: 'scan_result', to, locale, data: { scanId } });
    }
    await publicScans.markMailed(token);
  }
}
