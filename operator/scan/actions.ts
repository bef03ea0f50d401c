/** Executes the actions of a plan in order. Each action is idempotent, because the operator may crash at any point. */
import { SETTLE_FINALIZER, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { uploadSlotOf, type PodStored } from '../../core/protocol/pod-messages.ts';
import { incomingPrefix, type Reports } from '../../stores/reports.ts';
import { withDefaults } from '../../core/scan/options.ts';
import type { Recorder } from '../runtime/recorder.ts';
import type { Children } from './launch/children.ts';
import type { Launcher } from './launch/launch.ts';
import type { Preflight } from './launch/preflight.ts';
import type { Mirror } from './mirror.ts';
import type { EndReason } from './policy/condition-reasons.ts';
import type { Action, Facts } from './policy/plan.ts';
import { identityKey, uploadSlots } from './policy/pod-identity.ts';
import { attemptsSoFar } from './policy/progress.ts';
import { reservedPages } from './policy/run-time.ts';
import { doneStatus, endedStatus, queuedStatus, type StatusPatch } from './policy/status.ts';
import type { ReconcileStates } from './reconcile-state.ts';
import type { Ingestion } from './results/ingest.ts';
import type { ScanClient } from './scan-client.ts';
import type { ScanTraces } from './traces.ts';

export interface ActionDeps {
  scanClient: ScanClient;
  children: Pick<Children, 'failLostPod' | 'removeJob'>;
  preflight: Preflight;
  launch: Launcher;
  ingestion: Ingestion;
  mirror: Mirror;
  states: ReconcileStates;
  reports: Pick<Reports, 'removeAll'>;
  recorder: Recorder;
  /** The number of retries after crashes. */
  retries: number;
  traces: ScanTraces;
  /** Called at least once for each scan that ends. */
  onEnd: (phase: string, reason: string, seconds: number, passed: boolean | null) => void;
}

export type RunActions = (actions: readonly Action[], facts: Facts, signal: AbortSignal) => Promise<void>;

/** The input of an action. `scan` includes the writes of the previous actions. */
interface Step {
  facts: Facts;
  scan: AccessibilityScan;
  signal: AbortSignal;
}

/** Executes one action. @returns the scan after the action's writes */
type Handlers = { [Name in Action['do']]: (action: Extract<Action, { do: Name }>, step: Step) => Promise<AccessibilityScan> };

export function createActions(deps: ActionDeps): RunActions {
  const handlers: Handlers = { ...lifecycleHandlers(deps), ...runHandlers(deps), ...endHandlers(deps) };
  const execute = <Name extends Action['do']>(action: Extract<Action, { do: Name }>, step: Step) =>
    (handlers[action.do as Name] as Handlers[Name])(action, step);

  return async (actions, facts, signal) => {
    let { scan } = facts;
    for (const action of actions) {
      signal.throwIfAborted();
      scan = await execute(action, { facts, scan, signal });
    }
  };
}

/** The attempts and the Job name, which may not be in the status yet when a scan ends. */
function workSoFar({ facts: { job, pods }, scan }: Step): StatusPatch {
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
function lifecycleHandlers(deps: ActionDeps): Pick<Handlers, 'claim' | 'vet' | 'launch'> {
  const { scanClient, preflight, states } = deps;
  return {
    async claim(_, { facts, scan, signal }) {
      return scanClient.patchMetadata(scan, await preflight.claim(scan, facts.scanId), signal);
    },
    async vet(_, step) {
      const { facts, scan } = step;
      const vetted = await preflight.vet(scan, facts.scanId);
      if (!vetted.ok) return writeEnd(deps, vetted.end, step);
      const pages = { requested: vetted.row.pagesRequested, reserved: vetted.row.pagesReserved };
      return scanClient.patchStatus(scan, queuedStatus(scan, pages, facts.now));
    },
    async launch(_, step) {
      const { facts, scan, signal } = step;
      const launched = await deps.launch(scan, facts.scanId, facts.now, signal);
      if (!launched.ok) return writeEnd(deps, launched.end, step);
      states.of(scan.metadata.uid!).job = launched.job;
      return scan;
    },
  };
}

/** Handlers for a running scan. */
function runHandlers(deps: ActionDeps): Pick<Handlers, 'observe' | 'mirror' | 'ingest' | 'failLostPod'> {
  const { scanClient, children, mirror, states, recorder, traces } = deps;
  return {
    async observe(action, { facts, scan, signal }) {
      const written = await scanClient.patchStatus(scan, action.status, signal);
      states.of(scan.metadata.uid!).statusAt = facts.now;
      // Recorded here because the response to the creation of the Job may be lost.
      if (scan.status?.jobName === undefined) recorder.event(scan, 'Normal', 'Launched', `Created Job ${written.status?.jobName}.`);
      return written;
    },
    async mirror(action, { facts, scan }) {
      await mirror.change(facts.scanId, { phase: action.phase, pages: action.pages });
      const state = states.of(scan.metadata.uid!);
      state.mirrored = { phase: action.phase, pages: action.pages };
      state.mirroredAt = facts.now;
      return scan;
    },
    ingest(action, step) {
      return traces.during('ingest', step.scan, step.facts.scanId, () => ingest(deps, action.stored, step));
    },
    async failLostPod(action, { facts, scan, signal }) {
      await children.failLostPod(action.pod, facts.now, signal);
      return scan;
    },
  };
}

async function ingest(deps: ActionDeps, stored: PodStored, step: Step): Promise<AccessibilityScan> {
  const { facts, scan, signal } = step;
  const options = withDefaults(scan.spec);
  // Use the retries of the Job: the setting may have changed since the launch.
  const slots = uploadSlots(facts.job?.spec?.backoffLimitPerIndex ?? deps.retries);
  const ingested = await deps.ingestion.ingest(stored, uploadSlotOf(slots, stored)!, {
    scanId: facts.scanId,
    options,
    reserved: reservedPages(scan),
    pagesRequested: scan.status?.pages?.requested ?? options.maxPages,
    announced: { scanned: stored.pages.scanned, failed: stored.pages.failed },
  });
  if (!ingested.ok) {
    deps.states.of(scan.metadata.uid!).refused.set(identityKey(stored), ingested.reason);
    return scan;
  }
  const { result } = ingested;
  const status = { ...doneStatus(scan, facts.scanId, result, facts.now), ...workSoFar(step) };
  const written = await deps.scanClient.patchStatus(scan, status, signal);
  const { score, violations, pages } = result.outcome;
  const message = `${pages.scanned} of ${pages.total} pages tested, score ${score}, ${violations.total} violations.`;
  deps.recorder.event(scan, 'Normal', 'Done', message);
  reportEnd(deps, written, facts.scanId, 'Done');
  return written;
}

/** Handlers for the end of a scan and afterwards. */
function endHandlers(deps: ActionDeps): Pick<Handlers, 'end' | 'removeJob' | 'finish' | 'release' | 'expire'> {
  const { scanClient, children, mirror, states, traces, reports } = deps;
  return {
    end: (action, step) => writeEnd(deps, action.end, step),
    async removeJob(_, { facts, scan, signal }) {
      await children.removeJob(facts.job!, signal);
      states.of(scan.metadata.uid!).removedJob = facts.job!.metadata.uid!;
      return scan;
    },
    async finish(_, { facts, scan }) {
      await traces.during('settle', scan, facts.scanId, () => mirror.finish(scan, facts.scanId));
      return scan;
    },
    async release(_, { facts, scan, signal }) {
      const finalizers = (scan.metadata.finalizers ?? []).filter((name) => name !== SETTLE_FINALIZER);
      const released = await scanClient.patchMetadata(scan, { finalizers }, signal);
      // Only now, because an operator that restarts before the end is written verifies the uploads again. If the removal fails,
      // the uploads stay until the scan's reports expire. A scan without a Job may have claimed a foreign ID.
      if (scan.status?.jobName !== undefined) void reports.removeAll(incomingPrefix(facts.scanId)).catch(() => undefined);
      return released;
    },
    async expire(_, { scan, signal }) {
      await scanClient.remove(scan, signal);
      return scan;
    },
  };
}
