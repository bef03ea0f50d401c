/** Decides which scans to admit, first come, first served, and the condition of those that keep waiting. Pure. */
import type { AccessibilityScan, ScanQueue } from '../../core/protocol/custom-resources.ts';
import { isAdmitted } from '../scan/kube-types.ts';
import { hasEnded } from '../scan/policy/status.ts';

export interface QueueLoad {
  /** The number of waiting scans. */
  queued: number;
  /** The number of admitted scans that have not ended. */
  running: number;
  /** The waiting time of the first scan in the queue. */
  oldestWaitSeconds: number;
  /** The number of scans that have not ended, including those not vetted yet. The API compares it with its limit. */
  live: number;
  paused: boolean;
}

/** `queued`, `running` and `oldestWaitSeconds` are the values after the admissions. */
export interface QueueDecision extends QueueLoad {
  /** The scans to admit, in order. */
  admit: AccessibilityScan[];
  /** The scans that keep waiting, in order, and why. */
  waiting: Waiting[];
}

export interface Waiting {
  scan: AccessibilityScan;
  reason: string;
  message: string;
}

/** A scan waits if it was vetted, is not admitted, and is not being canceled or deleted. */
export function isWaiting(scan: AccessibilityScan): boolean {
  const ending = scan.spec.cancel === true || scan.metadata.deletionTimestamp !== undefined;
  return scan.status?.phase !== undefined && !hasEnded(scan) && !isAdmitted(scan) && !ending;
}

/**
 * @param scans all scans, including the operator's own writes, so that capacity is not given away twice
 * @param queue null if it does not exist; the queue is then open and has the default size
 */
export function decideAdmission(
  scans: readonly AccessibilityScan[],
  queue: ScanQueue | null,
  defaultMaxRunning: number,
  now: Date,
): QueueDecision {
  const live = scans.filter((scan) => !hasEnded(scan));
  const running = live.filter(isAdmitted).length;
  const queued = live.filter(isWaiting).toSorted(byCreation);
  const paused = queue?.spec.paused ?? false;
  const free = paused ? 0 : Math.max(0, (queue?.spec.maxRunning ?? defaultMaxRunning) - running);
  const rest = queued.slice(free);
  const oldest = rest[0] === undefined ? 0 : (now.getTime() - createdAt(rest[0])) / 1000;
  return {
    admit: queued.slice(0, free),
    waiting: rest.map((scan, ahead) => ({ scan, ...(paused ? PAUSED : whyWaiting(ahead)) })),
    queued: rest.length,
    running: running + Math.min(free, queued.length),
    oldestWaitSeconds: Math.max(0, Math.floor(oldest)),
    live: live.length,
    paused,
  };
}

const PAUSED = { reason: 'QueuePaused', message: 'The queue is paused; the scan waits until it is resumed.' };

/**
 * The position is exact only near the front. If it were exact everywhere, each scan that leaves the queue would cause a
 * status write for every scan behind it.
 */
function whyWaiting(ahead: number): { reason: string; message: string } {
  const reason = 'Queued';
  if (ahead === 0) return { reason, message: 'Next in line; waiting for a running scan to end.' };
  if (ahead === 1) return { reason, message: '1 scan is ahead of it.' };
  if (ahead <= 10) return { reason, message: `${ahead} scans are ahead of it.` };
  const step = ahead <= 100 ? 10 : 100;
  return { reason, message: `More than ${Math.floor((ahead - 1) / step) * step} scans are ahead of it.` };
}

const createdAt = (scan: AccessibilityScan): number => Date.parse(scan.metadata.creationTimestamp!);

/** Creation times are whole seconds. The uid gives scans of the same second a stable order. */
function byCreation(a: AccessibilityScan, b: AccessibilityScan): number {
  return createdAt(a) - createdAt(b) || a.metadata.uid!.localeCompare(b.metadata.uid!);
}
