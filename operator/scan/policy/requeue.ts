/**
 * Gives the place of an admitted scan back while it cannot be launched, for example because an admission webhook of one
 * namespace fails. The scan waits in its queue with back-off, as Kueue's requeued workloads do. Pure.
 */
import type { AccessibilityScan } from '../../../core/protocol/custom-resources.ts';
import { timestamp } from '../../../platform/clock.ts';
import { launchFailed } from './condition-reasons.ts';
import { act, type Facts, type Plan, type Timeouts } from './facts.ts';
import { reservedPages } from './run-time.ts';
import { waitingStatus, type StatusPatch } from './status.ts';

/** The consecutive failures after which a place is given back: about two seconds if each of them is immediate. */
const FAILURES_MAX = 5;

/**
 * Reserves the credits of an admitted manifest, chooses the baseline and then creates the Job, or gives the place back after too many failures or too
 * much time.
 */
export function launchOrRequeue({ scan, state: { launchFailure: failure }, now }: Facts, admitted: Date, timeouts: Timeouts): Plan {
  // A second Job is created long after the admission.
  const isLate = scan.status?.replacedJob === undefined && now.getTime() - admitted.getTime() >= timeouts.launchMs;
  const isOver = failure !== null && (failure.count >= FAILURES_MAX || isLate);
  if (!isOver) return act({ do: nextStep(scan) });
  const why = launchFailed(failure.message);
  return act({ do: 'requeue', why, status: { ...waitingStatus(scan, why, now), requeueState: nextTry(scan, timeouts, now) } });
}

/** The baseline is chosen once and written to the status first, so that the input of each Job names the same one. */
function nextStep(scan: AccessibilityScan): 'reserve' | 'chooseBaseline' | 'launch' {
  if (reservedPages(scan) === 0) return 'reserve';
  return scan.spec.baseline !== undefined && scan.status?.baseline === undefined ? 'chooseBaseline' : 'launch';
}

/** The wait doubles each time. */
function nextTry({ status }: AccessibilityScan, { requeueBaseMs, requeueMaxMs }: Timeouts, now: Date): StatusPatch['requeueState'] {
  const before = status?.requeueState?.count ?? 0;
  const waitMs = Math.min(requeueMaxMs, requeueBaseMs * 2 ** Math.min(before, 30));
  return { count: before + 1, requeueAt: timestamp(new Date(now.getTime() + waitMs)) };
}
