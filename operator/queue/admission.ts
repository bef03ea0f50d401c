/** Decides which scans get a place among the running, and what those that wait are told: first come, first served. Pure. */
import type { AccessibilityScan, ScanQueue } from '../../core/protocol/custom-resources.ts';
import { isAdmitted } from '../scan/kube-types.ts';
import { hasEnded } from '../scan/policy/status.ts';

export interface QueueLook {
  /** Those that get a place now, in order. */
  admit: AccessibilityScan[];
  /** What those that go on waiting are told, in order. */
  waiting: { scan: AccessibilityScan; reason: string; message: string }[];
  /** How full the queue is once that is done. */
  queued: number;
  running: number;
  oldestWaitSeconds: number;
  /** Scans that have not ended, those included that have not been looked at yet: what the front door counts. */
  live: number;
  paused: boolean;
}

/** True while a scan waits for its place: it has its credits, and nobody has ended it. */
export function isWaiting(scan: AccessibilityScan): boolean {
  const ending = scan.spec.cancel === true || scan.metadata.deletionTimestamp !== undefined;
  return scan.status?.phase !== undefined && !hasEnded(scan) && !isAdmitted(scan) && !ending;
}

/**
 * One look at the queue.
 * @param scans all of them, the operator's own writes included: a place that was just given must not be given again
 * @param queue null where there is none: then it is open, with the default size
 */
export function lookAtQueue(scans: readonly AccessibilityScan[], queue: ScanQueue | null, defaultMaxRunning: number, now: Date): QueueLook {
  const living = scans.filter((scan) => !hasEnded(scan));
  const running = living.filter(isAdmitted).length;
  const line = living.filter(isWaiting).toSorted(byArrival);
  const paused = queue?.spec.paused ?? false;
  const free = paused ? 0 : Math.max(0, (queue?.spec.maxRunning ?? defaultMaxRunning) - running);
  const rest = line.slice(free);
  const oldest = rest[0] === undefined ? 0 : (now.getTime() - arrival(rest[0])) / 1000;
  return {
    admit: line.slice(0, free),
    waiting: rest.map((scan, ahead) => ({ scan, ...(paused ? PAUSED : whyWaiting(ahead)) })),
    queued: rest.length,
    running: running + Math.min(free, line.length),
    oldestWaitSeconds: Math.max(0, Math.floor(oldest)),
    live: living.length,
    paused,
  };
}

const PAUSED = { reason: 'QueuePaused', message: 'The queue is paused; the scan waits until it is resumed.' };

/**
 * What a scan is told of its place. Far back only roughly: otherwise every scan that leaves would have every one behind it
 * written again.
 */
function whyWaiting(ahead: number): { reason: string; message: string } {
  const reason = 'Queued';
  if (ahead === 0) return { reason, message: 'Next in line; waiting for a running scan to end.' };
  if (ahead === 1) return { reason, message: '1 scan is ahead of it.' };
  if (ahead <= 10) return { reason, message: `${ahead} scans are ahead of it.` };
  const step = ahead <= 100 ? 10 : 100;
  return { reason, message: `More than ${Math.floor((ahead - 1) / step) * step} scans are ahead of it.` };
}

const arrival = (scan: AccessibilityScan): number => Date.parse(scan.metadata.creationTimestamp!);

/** Creation times are whole seconds; two of the same second always come in the same order. */
function byArrival(a: AccessibilityScan, b: AccessibilityScan): number {
  return arrival(a) - arrival(b) || a.metadata.uid!.localeCompare(b.metadata.uid!);
}
