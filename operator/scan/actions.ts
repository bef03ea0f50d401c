/** Executes one action of a scan's plan. Each action is idempotent, because the operator may crash at any point. */
import { type AccessibilityScan, SETTLE_FINALIZER } from '../../core/protocol/custom-resources.ts';
import { type PodIdentity, uploadSlotOf } from '../../core/protocol/pod-messages.ts';
import { isForbiddenByCluster, KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import { incomingPrefix } from '../../stores/reports.ts';
import type { OperatorContext } from '../context.ts';
import { ObjectGone } from '../runtime/resource-client.ts';
import type { Job } from './kube-types.ts';
import { ChildRefused } from './launch/children.ts';
import { launch } from './launch/launch.ts';
import { chooseBaseline, claim, ReservationLate, reserve } from './launch/preflight.ts';
import { changeRow, finishRow, startOf } from './mirror.ts';
import { type EndReason, type RequeueReason, STORE_UNAVAILABLE } from './policy/condition-reasons.ts';
import type { Action, Facts, ReconcileState } from './policy/facts.ts';
import { isQuota, RETRIES_MAX, retriesOf, uploadSlots } from './policy/pods.ts';
import { attemptsSoFar } from './policy/progress.ts';
import {
  cancelingStatus,
  endedStatus,
  observedStatus,
  outageStatus,
  replacedStatus,
  resultStatus,
  type StatusPatch,
  type VerifiedResult,
  withStatus,
} from './policy/status.ts';
import { traced, traceEnd } from './traces.ts';

/** The uid in the status of a replaced Job that was gone before. */
const GONE = 'gone';

export interface Step {
  facts: Facts;
  /** With the writes of the previous actions. */
  scan: AccessibilityScan;
  signal: AbortSignal;
}

/** What the end of a scan is written from. */
export type Ending = Omit<Step, 'facts'> & { facts: Pick<Facts, 'scanId' | 'now' | 'job' | 'pods'> };

/** @returns the scan after the action's writes */
export async function execute(context: OperatorContext, action: Action, step: Step): Promise<AccessibilityScan> {
  const { scanClient, recorder, settings } = context;
  const { facts, scan, signal } = step;
  const { scanId, job, now } = facts;
  // Not read again by uid, because it is forgotten when the scan's deletion arrives during a write.
  const state: ReconcileState = facts.state;
  const patchStatus = (status: StatusPatch) => scanClient.patchStatus(scan, status, signal);
  switch (action.do) {
    case 'claim':
      return scanClient.patchMetadata(scan, await claim(context, scan, scanId), signal);
    case 'vet':
      state.vetting = true;
      return scan;
    case 'reserve': {
      const reserved = await countingFailures(state, reserve(context, scanId));
      if (!reserved.ok) return writeEnd(context, reserved.end, step);
      const { pagesRequested, pagesReserved } = reserved.row;
      return patchStatus({ pages: { requested: pagesRequested, reserved: pagesReserved, scanned: 0, failed: 0 } });
    }
    case 'chooseBaseline':
      return patchStatus({ baseline: await countingFailures(state, chooseBaseline(context, scanId, scan.spec.baseline!)) });
    case 'launch': {
      const launched = await countingFailures(state, launch(context, scan, scanId, now, signal));
      if (!launched.ok) return writeEnd(context, launched.end, step);
      Object.assign(state, { launched: true, statusAt: now });
      recorder.event(scan, 'Normal', 'Launched', `Created Job ${launched.job.metadata.name}.`);
      const { pods } = launched;
      // Gives back the places of pods that there are not.
      return pods === undefined || pods === (scan.status?.pods ?? 1) ? scan : patchStatus({ pods: pods > 1 ? pods : null });
    }
    case 'requeue': {
      const written = await patchStatus(action.status);
      Object.assign(state, { launchFailure: null, launched: false, search: null, noPodSince: null });
      recorder.event(scan, 'Warning', action.why.reason, action.why.message);
      context.metrics.requeued(action.why.reason);
      return written;
    }
    case 'observe': {
      const written = await patchStatus(action.status);
      state.statusAt = now;
      // The response to the creation of the Job was lost.
      if (scan.status?.jobName === undefined && !state.launched)
        recorder.event(scan, 'Normal', 'Launched', `Created Job ${written.status?.jobName}.`);
      return written;
    }
    case 'observeGeneration':
      return patchStatus(observedStatus(scan, now));
    case 'mirror': {
      await changeRow(context, scanId, { ...action.row, ...startOf(scan) });
      Object.assign(state, { mirrored: action.row, mirroredAt: now });
      return scan;
    }
    case 'search':
      state.task = { do: 'search', job, slots: slotsOf(job, settings.scanner.retries) };
      return scan;
    case 'ingest': {
      const { stored, slot = uploadSlotOf(slotsOf(job, settings.scanner.retries), stored)! } = action.result;
      state.task = { do: 'verify', stored, slot };
      return scan;
    }
    case 'reportOutage':
      recorder.event(scan, 'Warning', STORE_UNAVAILABLE, 'The object store is unavailable; waiting to read the results.');
      return patchStatus(outageStatus(scan, job?.metadata.name, now));
    case 'complete':
      return complete(context, action.result, step);
    case 'replaceJob': {
      // The next Job has the same upload slots, and a search would find these results again.
      if (state.refused.size > 0) await context.reports.removeAll(incomingPrefix(scanId));
      const written = await patchStatus(replacedStatus(scan, job?.metadata.uid ?? GONE, action.why, now));
      Object.assign(state, { launched: false, search: null, noPodSince: null, refused: new Map() });
      recorder.event(scan, 'Warning', action.why.reason, action.why.message);
      return written;
    }
    case 'failLostPod':
      await context.children.failLostPod(action.pod, now, signal);
      return scan;
    case 'markCanceling':
      return patchStatus({ ...cancelingStatus(scan, now), ...workSoFar(step) });
    case 'stopPods':
      await stopPods(context, facts, signal);
      state.podsStopped = true;
      return scan;
    case 'end':
      return writeEnd(context, action.end, step);
    case 'removeJob':
      await context.jobs.remove(job!, signal);
      return scan;
    case 'finish': {
      const { end } = action;
      const ended = end === undefined ? scan : withStatus(scan, { ...endedStatus(scan, end, now), ...workSoFar(step) });
      await traced(context.tracer, 'settle', scan, scanId, () => finishRow(context, ended, scanId));
      if (end !== undefined) reportEnd(context, ended, scanId, end.reason);
      return scan;
    }
    case 'release':
      return release(context, step);
    case 'expire':
      await scanClient.remove(scan, signal);
      return scan;
  }
}

export function isLeaving({ scanClient }: OperatorContext, { metadata }: AccessibilityScan): boolean {
  const newest = scanClient.get(metadata.namespace!, metadata.name);
  return metadata.deletionTimestamp === undefined && newest?.metadata.deletionTimestamp !== undefined;
}

/** Counts the failures of a launch, after some of which the scan goes back into its queue. */
async function countingFailures<T>(state: ReconcileState, step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (error) {
    state.launchFailure = { count: (state.launchFailure?.count ?? 0) + 1, reason: launchReason(error), message: launchProblem(error) };
    throw error;
  }
}

function launchReason(error: unknown): RequeueReason {
  if (!isForbiddenByCluster(error)) return 'LaunchFailed';
  return isQuota(String(error)) ? 'QuotaExceeded' : 'LaunchForbidden';
}

/** The part of an error that the authors of the scan may see: what the API server answered. */
function launchProblem(error: unknown): string {
  const isAnswer = error instanceof KubernetesError || error instanceof ChildRefused || error instanceof ReservationLate;
  return isAnswer ? error.message : 'a service that the operator needs does not answer; its log has the error.';
}

/** The upload slots of a scan. Uses the retries of the Job, because the setting may have changed since the launch. */
function slotsOf(job: Job | null, retries: number): PodIdentity[] {
  return uploadSlots(job === null ? RETRIES_MAX : (retriesOf(job) ?? retries));
}

/** The attempts and the Job name, which may not be in the status yet when a scan ends. */
function workSoFar({ facts: { job, pods }, scan }: Ending): StatusPatch {
  return { ...attemptsSoFar(scan.status, pods), ...(job !== null && { jobName: job.metadata.name }) };
}

async function complete(context: OperatorContext, result: VerifiedResult, step: Step): Promise<AccessibilityScan> {
  const { facts, scan, signal } = step;
  const status = { ...resultStatus(scan, facts.scanId, result, facts.now), ...workSoFar(step) };
  const written = await context.scanClient.patchStatus(scan, status, signal);
  const { score, violations, pages } = result.outcome;
  const reason = result.partial ? 'Canceled' : 'Done';
  const message = `${pages.scanned} of ${pages.total} pages tested, score ${score}, ${violations.total} violations.`;
  context.recorder.event(scan, 'Normal', reason, result.partial ? (written.status?.message ?? message) : message);
  reportEnd(context, written, facts.scanId, reason);
  return written;
}

export async function writeEnd(context: OperatorContext, end: EndReason, step: Ending): Promise<AccessibilityScan> {
  const { facts, scan, signal } = step;
  const written = await context.scanClient.patchStatus(scan, { ...endedStatus(scan, end, facts.now), ...workSoFar(step) }, signal);
  context.recorder.event(scan, end.phase === 'failed' ? 'Warning' : 'Normal', end.reason, end.message);
  reportEnd(context, written, facts.scanId, end.reason);
  return written;
}

/** At least once for each scan that ends. */
function reportEnd({ tracer, metrics }: OperatorContext, scan: AccessibilityScan, scanId: string, reason: string): void {
  const { phase = 'failed', completionTime, passed = null } = scan.status ?? {};
  const took = Date.parse(completionTime ?? '') - Date.parse(scan.metadata.creationTimestamp ?? '');
  traceEnd(tracer, scan, scanId, reason);
  metrics.ended(phase, reason, Math.max(0, took / 1000), passed);
}

/** Stops the pods of a canceled scan, so that they store the pages that they have tested. */
async function stopPods({ reports, children, logger }: OperatorContext, { scanId, job }: Facts, signal: AbortSignal): Promise<void> {
  // Without the mark, the pod takes its end for an eviction, and stores nothing. It must stop testing all the same.
  await reports.markCanceled(scanId, signal).catch((err: unknown) => {
    signal.throwIfAborted();
    logger.warn({ scan: scanId, err }, 'cancellation not marked; there will be no report');
  });
  await children.suspendJob(job!, signal);
}

async function release({ scanClient, reports }: OperatorContext, { facts, scan, signal }: Step): Promise<AccessibilityScan> {
  const finalizers = (scan.metadata.finalizers ?? []).filter((name) => name !== SETTLE_FINALIZER);
  const released = await scanClient.patchMetadata(scan, { finalizers }, signal).catch((error: unknown) => {
    // Someone else removed the finalizer, and the scan is gone.
    if (error instanceof ObjectGone) return scan;
    throw error;
  });
  // Only now, because an operator that restarts before the end is written verifies the uploads again. If the removal fails,
  // the uploads stay until the scan's reports expire. A scan without a Job may have claimed a foreign ID.
  if (facts.job !== null || facts.state.launched || scan.status?.jobName !== undefined || scan.status?.replacedJob !== undefined)
    void reports.removeAll(incomingPrefix(facts.scanId)).catch(() => undefined);
  return released;
}
