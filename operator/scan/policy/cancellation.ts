/**
 * Decides how a canceled scan ends: with the report of the pages that were tested until then, if its pod stores one in time. The
 * results of a scan that had tested all its pages before complete it. Pods have a time limit; results that are stored do not count
 * towards it, because the operator itself may have been down or busy. Pure.
 */
import { isPending, isPodTerminal, jobEnd } from '../kube-types.ts';
import * as reasons from './condition-reasons.ts';
import { act, end, type Facts, type Plan, type Timeouts } from './facts.ts';
import { pagesOf } from './progress.ts';
import { announcedResults, isRefused, needsSearch, TASK_CHECK_MS, VERIFICATIONS_MAX } from './results.ts';
import { isOutdated } from './status.ts';

export function canceled(facts: Facts, timeouts: Timeouts): Plan {
  const { scan, state, job, pods, now } = facts;
  if (state.verified !== null) return act({ do: 'complete', result: state.verified });
  const since = scan.status?.cancelTime;
  if (since === undefined) return mayHaveReport(facts) ? act({ do: 'markCanceling' }) : endWithout(facts, 'the scanner was not running');

  if (isOutdated(scan)) return act({ do: 'observeGeneration' });
  const left = Date.parse(since) + timeouts.cancelMs - now.getTime();
  const mayWait = left > 0;
  const wait: Plan = { actions: [], wakeAfterMs: left };
  if (mayWait && job !== null && job.spec?.suspend !== true && jobEnd(job) === null && !state.podsStopped) return act({ do: 'stopPods' });
  // One task at a time.
  if (state.task !== null) return mayWait ? wait : awaitTask(facts, timeouts);
  const unverified = announcedResults(facts).findLast(({ stored }) => !isRefused(facts, stored));
  if (unverified !== undefined && state.refused.size < VERIFICATIONS_MAX) return act({ do: 'ingest', result: unverified });
  const isRunning = pods.some((pod) => !isPodTerminal(pod));
  if (isRunning && mayWait) return wait;
  if (needsSearch(facts)) return act({ do: 'search' });
  const refused = [...state.refused.values()].at(-1);
  if (refused === undefined)
    return endWithout(
      facts,
      isRunning ? `it was not stored within ${Math.round(timeouts.cancelMs / 1000)} s` : 'the scanner ended without one',
    );
  return endWithout(facts, `it was refused: ${refused.replace(/\.$/, '')}`);
}

/** Past the limit of the pods, only an outage ends the wait: work that waits for that of other scans is done, however late it began. */
function awaitTask(facts: Facts, { cancelMs }: Timeouts): Plan {
  const { outageSince } = facts.state;
  if (outageSince === null) return { actions: [], wakeAfterMs: TASK_CHECK_MS };
  const left = outageSince.getTime() + cancelMs - facts.now.getTime();
  return left > 0 ? { actions: [], wakeAfterMs: left } : endWithout(facts, 'the object store did not respond in time');
}

/** Whether a pod has stored results, or tested pages that it can store. Without the bus, what it has tested is unknown. */
function mayHaveReport(facts: Facts): boolean {
  const { job, pods, busSince } = facts;
  if (announcedResults(facts).some(({ stored }) => !isRefused(facts, stored)) || (job && jobEnd(job))?.succeeded) return true;
  const isRunning = pods.some((pod) => !isPodTerminal(pod) && !isPending(pod));
  return isRunning && (pagesOf(facts).scanned > 0 || busSince === null);
}

const endWithout = (facts: Facts, why: string): Plan => end(reasons.canceled(facts.scan, pagesOf(facts), why));
