/**
 * Decides how a canceled scan ends: with the report of the pages that were tested until then, if its pod stores one in time. The
 * results of a scan that had tested all its pages before complete it. Pure.
 */
import { isPending, isPodTerminal, jobEnd } from '../kube-types.ts';
import * as reasons from './condition-reasons.ts';
import { act, end, type Facts, type Plan, type Timeouts } from './facts.ts';
import { identityKey } from './pod-identity.ts';
import { pagesOf } from './progress.ts';
import { announcedResults, isRefused, needsSearch } from './results.ts';
import { isOutdated } from './status.ts';

export function canceled(facts: Facts, timeouts: Timeouts): Plan {
  const { scan, state, job, pods, now } = facts;
  if (state.verified !== null) return act({ do: 'complete', result: state.verified });
  const since = scan.status?.cancelTime;
  if (since === undefined) return mayHaveReport(facts) ? act({ do: 'markCanceling' }) : endWithout(facts, 'the scanner was not running');

  const left = Date.parse(since) + timeouts.cancelMs - now.getTime();
  if (left <= 0) return endWithout(facts, whyLate(facts, timeouts));
  if (isOutdated(scan)) return act({ do: 'observeGeneration' });
  const wait: Plan = { actions: [], wakeAfterMs: left };
  if (job !== null && job.spec?.suspend !== true && jobEnd(job) === null && !state.podsStopped) return act({ do: 'stopPods' });
  // One task at a time.
  if (state.task !== null) return wait;
  const unverified = announcedResults(facts).findLast(({ stored }) => !isRefused(facts, stored));
  if (unverified !== undefined) return act({ do: 'ingest', result: unverified });
  if (pods.some((pod) => !isPodTerminal(pod))) return wait;
  if (needsSearch(facts)) return act({ do: 'search' });
  const refused = announcedResults(facts).at(-1)?.stored;
  return refused === undefined
    ? endWithout(facts, 'the scanner ended without one')
    : endWithout(facts, `it was refused: ${state.refused.get(identityKey(refused))!.replace(/\.$/, '')}`);
}

/** Whether a pod has stored results, or tested pages that it can store. Without the bus, what it has tested is unknown. */
function mayHaveReport(facts: Facts): boolean {
  const { job, pods, busSince } = facts;
  if (announcedResults(facts).some(({ stored }) => !isRefused(facts, stored)) || (job && jobEnd(job))?.succeeded) return true;
  const isRunning = pods.some((pod) => !isPodTerminal(pod) && !isPending(pod));
  return isRunning && (pagesOf(facts).scanned > 0 || busSince === null);
}

const endWithout = (facts: Facts, why: string): Plan => end(reasons.canceled(facts.scan, pagesOf(facts), why));

const whyLate = ({ state }: Facts, { cancelMs }: Timeouts): string =>
  state.outageSince === null
    ? `it was not stored and verified within ${Math.round(cancelMs / 1000)} s`
    : 'the object store did not respond in time';
