/** Executes the actions of a plan in order. Each action is idempotent, because the operator may crash at any point. */
import { type AccessibilityScan, queueOf, SETTLE_FINALIZER } from '../../core/protocol/custom-resources.ts';
import { type PodIdentity, uploadSlotOf } from '../../core/protocol/pod-messages.ts';
import { incomingPrefix, type Reports } from '../../stores/reports.ts';
import { KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import type { Recorder } from '../runtime/events.ts';
import { conditionOf } from '../runtime/conditions.ts';
import { ObjectGone, type ResourceClient } from '../runtime/resource-client.ts';
import type { AdmissionGate } from '../queue/places.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Job, ScanClient } from './kube-types.ts';
import { ChildRefused, type Children } from './launch/children.ts';
import { type ChooseBaseline, type Preflight, ReservationLate } from './launch/preflight.ts';
import type { Launcher } from './launch/launch.ts';
import { type Mirror, startOf } from './mirror.ts';
import { type EndReason, NAME_SERVERS_UNAVAILABLE, STORE_UNAVAILABLE } from './policy/condition-reasons.ts';
import type { Action, Facts, ReconcileState, ResultTask } from './policy/facts.ts';
import { RETRIES_MAX, uploadSlots } from './policy/pods.ts';
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
  vettedStatus,
  waitingStatus,
  withStatus,
} from './policy/status.ts';
import type { ScanTraces } from './traces.ts';
export interface ActionDeps extends Pick<StopDeps, 'logger'> {
  scanClient: ScanClient;
  jobs: Pick<ResourceClient<Job>, 'remove'>;
  children: Pick<Children, 'failLostPod'> & StopDeps['children'];
  preflight: Preflight;
  gate: Pick<AdmissionGate, 'take' | 'settled'>;
  chooseBaseline: ChooseBaseline;
  launch: Launcher;
  /** Starts work on the results of a scan that has none in progress. */
  startTask: (scan: AccessibilityScan, state: ReconcileState, task: ResultTask) => void;
  mirror: Mirror;
  reports: Pick<Reports, 'removeAll'> & StopDeps['reports'];
  recorder: Recorder;
  /** The number of retries after crashes. */
  retries: number;
  traces: ScanTraces;
  /** Called at least once for each scan that ends. */
  onEnd: (phase: string, reason: string, seconds: number, passed: boolean | null) => void;
  /** Called each time a scan goes back into its queue. */
  onRequeue: () => void;
}

/** The uid in the status of a replaced Job that was gone before. */
const GONE = 'gone';

export type RunActions = (actions: readonly Action[], facts: Facts, signal: AbortSignal) => Promise<void>;

/** The input of an action. `scan` includes the writes of the previous actions. */
interface Step {
  facts: Facts;
  /** That of the facts. Not read again by uid, because it is forgotten when the scan's deletion arrives during a write. */
  state: ReconcileState;
  scan: AccessibilityScan;
  signal: AbortSignal;
}

/** Executes one action. @returns the scan after the action's writes */
type Handlers = { [Name in Action['do']]: (action: Extract<Action, { do: Name }>, step: Step) => Promise<AccessibilityScan> };

export function createActions(deps: ActionDeps): RunActions {
  const handlers: Handlers = { ...lifecycleHandlers(deps), ...runHandlers(deps), ...endHandlers(deps) };
  const execute = <Name extends Action['do']>(action: Extract<Action, { do: Name }>, step: Step) => handlers[action.do](action, step);

  return async (actions, facts, signal) => {
    let { scan } = facts;
    for (const action of actions) {
      signal.throwIfAborted();
      // A new plan settles it. Nothing is admitted or launched any more.
      if (isLeaving(deps.scanClient, facts.scan)) return;
      scan = await execute(action, { facts, state: facts.state, scan, signal });
    }
  };
}

/** Returns whether the scan was deleted after its facts were gathered. */
function isLeaving(scanClient: ActionDeps['scanClient'], { metadata }: AccessibilityScan): boolean {
  const newest = scanClient.get(metadata.namespace!, metadata.name);
  return metadata.deletionTimestamp === undefined && newest?.metadata.deletionTimestamp !== undefined;
}

/** The attempts and the Job name, which may not be in the status yet when a scan ends. */
function workSoFar({ facts: { job, pods }, scan }: Pick<Step, 'facts' | 'scan'>): StatusPatch {
  return { ...attemptsSoFar(scan.status, pods), ...(job !== null && { jobName: job.metadata.name }) };
}

async function writeEnd(deps: ActionDeps, end: EndReason, step: Step): Promise<AccessibilityScan> {
  const { facts, scan, signal } = step;
  const written = await deps.scanClient.patchStatus(scan, { ...endedStatus(scan, end, facts.now), ...workSoFar(step) }, signal);
  deps.recorder.event(scan, end.phase === 'failed' ? 'Warning' : 'Normal', end.reason, end.message);
  reportEnd(deps, written, facts.scanId, end.reason);
  return written;
}

function reportEnd(deps: ActionDeps, scan: AccessibilityScan, scanId: string, reason: string): void {
  const { phase = 'failed', completionTime, passed = null } = scan.status ?? {};
  const took = Date.parse(completionTime ?? '') - Date.parse(scan.metadata.creationTimestamp ?? '');
  deps.traces.ended(scan, scanId, reason);
  deps.onEnd(phase, reason, Math.max(0, took / 1000), passed);
}

/** Handlers for a scan before its Job runs. */
function lifecycleHandlers(deps: ActionDeps) {
  const { scanClient, preflight, gate, recorder } = deps;
  /** The scan keeps having no phase, so that it is vetted again. */
  const holdBack = async ({ facts, scan, signal }: Step): Promise<AccessibilityScan> => {
    const isStated = conditionOf(scan.status?.conditions, 'Admitted')?.reason === NAME_SERVERS_UNAVAILABLE.reason;
    return isStated ? scan : scanClient.patchStatus(scan, waitingStatus(scan, NAME_SERVERS_UNAVAILABLE, facts.now), signal);
  };
  return {
    async claim(_, { facts, scan, signal }) {
      return scanClient.patchMetadata(scan, await preflight.claim(scan, facts.scanId), signal);
    },
    async vet({ resolveMs }, step) {
      const { facts, state, scan, signal } = step;
      const vetted = await preflight.vet(scan, facts.scanId);
      const since = state.unresolved?.since ?? facts.now;
      state.unresolved = 'unresolved' in vetted ? { since, at: facts.now } : null;
      if ('end' in vetted) return writeEnd(deps, vetted.end, step);
      if ('unresolved' in vetted)
        return facts.now.getTime() - since.getTime() < resolveMs ? holdBack(step) : writeEnd(deps, vetted.unresolved, step);
      if (isLeaving(scanClient, scan)) return scan;
      const { organisation, pagesRequested: requested, pagesReserved: reserved } = vetted.row;
      const uid = scan.metadata.uid!;
      const queue = queueOf(scan);
      const admitted = gate.take(queue, { uid, namespace: scan.metadata.namespace!, organisation });
      try {
        return await scanClient.patchStatus(
          scan,
          vettedStatus(scan, { organisation, pages: { requested, reserved } }, admitted, facts.now),
          signal,
        );
      } finally {
        gate.settled(queue, uid);
      }
    },
    async reserve(_, step) {
      const { facts, state, scan, signal } = step;
      const reserved = await countingFailures(state, preflight.reserve(facts.scanId));
      if (!reserved.ok) return writeEnd(deps, reserved.end, step);
      const { pagesRequested: requested, pagesReserved } = reserved.row;
      return scanClient.patchStatus(scan, { pages: { requested, reserved: pagesReserved, scanned: 0, failed: 0 } }, signal);
    },
    async chooseBaseline(_, { facts, state, scan, signal }) {
      const baseline = await countingFailures(state, deps.chooseBaseline(facts.scanId, scan.spec.baseline!));
      return scanClient.patchStatus(scan, { baseline }, signal);
    },
    async launch(_, step) {
      const { facts, state, scan, signal } = step;
      const launched = await countingFailures(state, deps.launch(scan, facts.scanId, facts.now, signal));
      if (!launched.ok) return writeEnd(deps, launched.end, step);
      const { name } = launched.job.metadata;
      Object.assign(state, { launched: true, statusAt: facts.now });
      recorder.event(scan, 'Normal', 'Launched', `Created Job ${name}.`);
      return scan;
    },
    async requeue({ why, status }, { state, scan, signal }) {
      const written = await scanClient.patchStatus(scan, status, signal);
      state.launchFailure = null;
      recorder.event(scan, 'Warning', why.reason, why.message);
      deps.onRequeue();
      return written;
    },
  } satisfies Partial<Handlers>;
}

/** Counts the failures of a launch, after some of which the scan goes back into its queue. */
async function countingFailures<T>(state: ReconcileState, step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (error) {
    state.launchFailure = { count: (state.launchFailure?.count ?? 0) + 1, message: launchProblem(error) };
    throw error;
  }
}

/** The part of an error that the authors of the scan may see: what the API server answered. */
function launchProblem(error: unknown): string {
  const isAnswer = error instanceof KubernetesError || error instanceof ChildRefused || error instanceof ReservationLate;
  return isAnswer ? error.message : 'a service that the operator needs does not answer; its log has the error.';
}

/** Handlers for a running scan. */
function runHandlers(deps: ActionDeps) {
  const { scanClient, children, mirror, recorder } = deps;
  return {
    async observe(action, { facts, state, scan, signal }) {
      const written = await scanClient.patchStatus(scan, action.status, signal);
      state.statusAt = facts.now;
      // The response to the creation of the Job was lost.
      if (scan.status?.jobName === undefined && !state.launched)
        recorder.event(scan, 'Normal', 'Launched', `Created Job ${written.status?.jobName}.`);
      return written;
    },
    observeGeneration: (_, { facts, scan, signal }) => scanClient.patchStatus(scan, observedStatus(scan, facts.now), signal),
    async mirror(action, { facts, state, scan }) {
      await mirror.change(facts.scanId, { phase: action.phase, pages: action.pages, ...startOf(scan) });
      state.mirrored = { phase: action.phase, pages: action.pages };
      state.mirroredAt = facts.now;
      return scan;
    },
    async search(_, { facts, state, scan }) {
      deps.startTask(scan, state, { do: 'search', job: facts.job, slots: slotsOf(deps, facts.job) });
      return scan;
    },
    async ingest({ result: { stored, slot } }, { facts, state, scan }) {
      deps.startTask(scan, state, { do: 'verify', stored, slot: slot ?? uploadSlotOf(slotsOf(deps, facts.job), stored)! });
      return scan;
    },
    async reportOutage(_, { facts, scan, signal }) {
      recorder.event(scan, 'Warning', STORE_UNAVAILABLE, 'The object store is unavailable; waiting to read the results.');
      return scanClient.patchStatus(scan, outageStatus(scan, facts.job?.metadata.name, facts.now), signal);
    },
    complete: (action, step) => complete(deps, action.result, step),
    async replaceJob({ why }, { facts, state, scan, signal }) {
      // The next Job has the same upload slots, and a search would find these results again.
      if (state.refused.size > 0) await deps.reports.removeAll(incomingPrefix(facts.scanId));
      const replaced = facts.job?.metadata.uid ?? GONE;
      const written = await scanClient.patchStatus(scan, replacedStatus(scan, replaced, why, facts.now), signal);
      Object.assign(state, { launched: false, search: null, noPodSince: null, refused: new Map() });
      recorder.event(scan, 'Warning', why.reason, why.message);
      return written;
    },
    async failLostPod(action, { facts, scan, signal }) {
      await children.failLostPod(action.pod, facts.now, signal);
      return scan;
    },
  } satisfies Partial<Handlers>;
}

/** The upload slots of a scan. Uses the retries of the Job, because the setting may have changed since the launch. */
function slotsOf(deps: ActionDeps, job: Job | null): PodIdentity[] {
  return uploadSlots(job === null ? RETRIES_MAX : (job.spec?.backoffLimitPerIndex ?? deps.retries));
}

async function complete(deps: ActionDeps, result: VerifiedResult, step: Step): Promise<AccessibilityScan> {
  const { facts, scan, signal } = step;
  const status = { ...resultStatus(scan, facts.scanId, result, facts.now), ...workSoFar(step) };
  const written = await deps.scanClient.patchStatus(scan, status, signal);
  const { score, violations, pages } = result.outcome;
  const reason = result.partial ? 'Canceled' : 'Done';
  const message = `${pages.scanned} of ${pages.total} pages tested, score ${score}, ${violations.total} violations.`;
  deps.recorder.event(scan, 'Normal', reason, result.partial ? (written.status?.message ?? message) : message);
  reportEnd(deps, written, facts.scanId, reason);
  return written;
}

/** Handlers for the end of a scan and afterwards. */
function endHandlers(deps: ActionDeps) {
  const { scanClient, mirror, traces, reports } = deps;
  return {
    markCanceling: (_, { facts, scan, signal }) =>
      scanClient.patchStatus(scan, { ...cancelingStatus(scan, facts.now), ...workSoFar({ facts, scan }) }, signal),
    async stopPods(_, { facts, state, scan, signal }) {
      await stopPods(deps, facts, signal);
      state.podsStopped = true;
      return scan;
    },
    end: (action, step) => writeEnd(deps, action.end, step),
    async removeJob(_, { facts, scan, signal }) {
      await deps.jobs.remove(facts.job!, signal);
      return scan;
    },
    async finish({ end }, step) {
      const { facts, scan } = step;
      const ended = end === undefined ? scan : withStatus(scan, { ...endedStatus(scan, end, facts.now), ...workSoFar(step) });
      await traces.during('settle', scan, facts.scanId, () => mirror.finish(ended, facts.scanId));
      if (end !== undefined) reportEnd(deps, ended, facts.scanId, end.reason);
      return scan;
    },
    async release(_, { facts, state, scan, signal }) {
      const finalizers = (scan.metadata.finalizers ?? []).filter((name) => name !== SETTLE_FINALIZER);
      const released = await scanClient.patchMetadata(scan, { finalizers }, signal).catch((error: unknown) => {
        // Someone else removed the finalizer, and the scan is gone.
        if (error instanceof ObjectGone) return scan;
        throw error;
      });
      // Only now, because an operator that restarts before the end is written verifies the uploads again. If the removal fails,
      // the uploads stay until the scan's reports expire. A scan without a Job may have claimed a foreign ID.
      if (facts.job !== null || state.launched || scan.status?.jobName !== undefined || scan.status?.replacedJob !== undefined)
        void reports.removeAll(incomingPrefix(facts.scanId)).catch(() => undefined);
      return released;
    },
    async expire(_, { scan, signal }) {
      await scanClient.remove(scan, signal);
      return scan;
    },
  } satisfies Partial<Handlers>;
}

/** Stops the pods of a canceled scan, so that they store the pages that they have tested. Idempotent. */
interface StopDeps {
  children: Pick<Children, 'suspendJob'>;
  reports: Pick<Reports, 'markCanceled'>;
  logger: Logger;
}

async function stopPods(
  { children, reports, logger }: StopDeps,
  { scanId, job }: Pick<Facts, 'scanId' | 'job'>,
  signal: AbortSignal,
): Promise<void> {
  // Without the mark, the pod takes its end for an eviction, and stores nothing. It must stop testing all the same.
  await reports.markCanceled(scanId, signal).catch((err: unknown) => {
    signal.throwIfAborted();
    logger.warn({ scan: scanId, err }, 'cancellation not marked; there will be no report');
  });
  await children.suspendJob(job!, signal);
}
