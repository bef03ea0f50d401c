/** Carries out what the plan decided, one action after the other. Each may be repeated: the operator may die between any two lines. */
import { SETTLE_FINALIZER, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { withDefaults } from '../../core/scan/options.ts';
import type { Bus } from '../../stores/nats.ts';
import { reportKeys, type Reports } from '../../stores/reports.ts';
import type { Scans } from '../../stores/scans/scans.ts';
import type { Recorder } from '../runtime/recorder.ts';
import { ChildRefused, type Children } from './launch/children.ts';
import * as ends from './policy/condition-reasons.ts';
import type { EndReason } from './policy/condition-reasons.ts';
import type { Mirror } from './mirror.ts';
import type { Ingestion } from './results/ingest.ts';
import type { Preflight } from './launch/preflight.ts';
import { buildJob, type Launch, type ScannerSettings } from './launch/job.ts';
import { admittedAt } from './kube-types.ts';
import type { ReconcileStates } from './reconcile-state.ts';
import { attemptsSoFar } from './policy/progress.ts';
import { reservedPages, secondsToRun, type RunTime } from './policy/run-time.ts';
import type { Action, Facts } from './policy/plan.ts';
import type { ScanClient } from './scan-client.ts';
import { buildSecret, podInput, type PodSettings } from './launch/secret.ts';
import { doneStatus, endedStatus, queuedStatus, type StatusPatch } from './policy/status.ts';
import type { ScanTraces } from './traces.ts';

export interface ActionDeps {
  scanClient: ScanClient;
  children: Children;
  preflight: Preflight;
  ingestion: Ingestion;
  mirror: Mirror;
  states: ReconcileStates;
  scans: Pick<Scans, 'find'>;
  reports: Pick<Reports, 'uploadLink'>;
  bus: Pick<Bus, 'issueScanCredential'>;
  recorder: Recorder;
  scanner: ScannerSettings;
  pod: PodSettings;
  runTime: RunTime;
  traces: ScanTraces;
  /** Is told of each scan that ends, once in most cases. */
  onEnd: (phase: string, reason: string, seconds: number, passed: boolean | null) => void;
}

export type RunActions = (actions: readonly Action[], facts: Facts, signal: AbortSignal) => Promise<void>;

/** Upload links outlive the pod's deadline by so much: an upload may be under way. In seconds. */
const UPLOAD_MARGIN_SECONDS = 60;

/** Who had the work: the end may come before anything of it was written. */
function workSoFar({ job, pods }: Facts, scan: AccessibilityScan): StatusPatch {
  return { ...attemptsSoFar(scan.status, pods), ...(job !== null && { jobName: job.metadata.name }) };
}

export function createActions(parts: ActionDeps): RunActions {
  const { scanClient, children, preflight, ingestion, mirror, states, recorder, traces } = parts;

  async function writeEnd(facts: Facts, scan: AccessibilityScan, end: EndReason, signal: AbortSignal): Promise<AccessibilityScan> {
    const written = await scanClient.patchStatus(scan, { ...endedStatus(scan, end, facts.now), ...workSoFar(facts, scan) }, signal);
    recorder.event(scan, end.phase === 'failed' ? 'Warning' : 'Normal', end.reason, end.message);
    tell(written, facts.scanId, end.reason);
    return written;
  }

  function tell(scan: AccessibilityScan, scanId: string, reason: string): void {
    const { phase = 'failed', completionTime, passed = null } = scan.status ?? {};
    const took = Date.parse(completionTime ?? '') - Date.parse(scan.metadata.creationTimestamp ?? '');
    traces.ended(scan, scanId, reason);
    parts.onEnd(phase, reason, Math.max(0, took / 1000), passed);
  }

  async function vet({ scanId, now }: Facts, scan: AccessibilityScan): Promise<AccessibilityScan | EndReason> {
    const vetted = await preflight.vet(scan, scanId);
    if ('end' in vetted) return vetted.end;
    const { pagesRequested, pagesReserved } = vetted.row;
    return scanClient.patchStatus(scan, queuedStatus(scan, { requested: pagesRequested, reserved: pagesReserved }, now));
  }

  /** The Secret first: a pod without it would wait for its volume. */
  async function launch({ scanId, now }: Facts, scan: AccessibilityScan, signal: AbortSignal): Promise<EndReason | null> {
    const row = await parts.scans.find(scanId);
    if (row === null) return ends.NOT_SUBMITTED;
    const seconds = secondsToRun(reservedPages(scan), parts.runTime);
    const run: Launch = { scan, scanId, organisation: row.organisation, seconds };
    const deadline = new Date((admittedAt(scan) ?? now).getTime() + seconds * 1000);
    const left = Math.max(1, Math.ceil((deadline.getTime() - now.getTime()) / 1000)) + UPLOAD_MARGIN_SECONDS;
    const keys = reportKeys(scanId);
    const grants = {
      deadline,
      uploads: {
        export: await parts.reports.uploadLink(keys.export, 'application/json', left),
        pdf: await parts.reports.uploadLink(keys.pdf, 'application/pdf', left),
      },
      messages: parts.bus.issueScanCredential(scanId, deadline),
      traceparent: traces.launched(scan, scanId),
    };
    try {
      await children.createSecret(buildSecret(run, podInput(run, parts.pod, grants)), signal);
      states.of(scan.metadata.uid!).job = await children.createJob(scan, buildJob(run, parts.scanner), signal);
      return null;
    } catch (error) {
      if (!(error instanceof ChildRefused)) throw error;
      // Others' Jobs may end in a moment; that is worth as long a wait as a pod that does not start.
      const waited = now.getTime() - (admittedAt(scan) ?? now).getTime();
      if (/exceeded quota/i.test(error.message) && waited < parts.runTime.pendingDeadlineSeconds * 1000) throw error;
      return error.kind === 'taken' ? ends.nameTaken(error.message) : ends.launchRefused(error.message);
    }
  }

  async function ingest(facts: Facts, scan: AccessibilityScan, stored: Extract<Action, { do: 'ingest' }>['stored'], signal: AbortSignal) {
    const options = withDefaults(scan.spec);
    const taken = await ingestion.ingest(stored, {
      scanId: facts.scanId,
      options,
      reserved: reservedPages(scan),
      pagesRequested: scan.status?.pages?.requested ?? options.maxPages,
      said: { scanned: stored.pages.scanned, failed: stored.pages.failed },
    });
    if (!taken.accepted) {
      states.of(scan.metadata.uid!).refused.set(stored.attempt, taken.why);
      return scan;
    }
    const written = await scanClient.patchStatus(
      scan,
      { ...doneStatus(scan, facts.scanId, taken.findings, facts.now), ...workSoFar(facts, scan) },
      signal,
    );
    const { score, violations, pages } = taken.findings.outcome;
    recorder.event(
      scan,
      'Normal',
      'Done',
      `${pages.scanned} of ${pages.total} pages tested, score ${score}, ${violations.total} violations.`,
    );
    tell(written, facts.scanId, 'Done');
    return written;
  }

  /** @returns the scan as the action left it */
  async function act(action: Action, facts: Facts, scan: AccessibilityScan, signal: AbortSignal): Promise<AccessibilityScan> {
    const { scanId, now, job } = facts;
    const state = states.of(scan.metadata.uid!);
    switch (action.do) {
      case 'claim':
        return scanClient.patchMetadata(scan, await preflight.claim(scan, scanId), signal);
      case 'vet': {
        const vetted = await vet(facts, scan);
        return 'reason' in vetted ? writeEnd(facts, scan, vetted, signal) : vetted;
      }
      case 'launch': {
        const end = await launch(facts, scan, signal);
        return end === null ? scan : writeEnd(facts, scan, end, signal);
      }
      case 'observe': {
        const written = await scanClient.patchStatus(scan, action.status, signal);
        state.statusAt = now;
        // Not where it is made: the answer to that may be lost, and the Job there all the same.
        if (scan.status?.jobName === undefined) recorder.event(scan, 'Normal', 'Launched', `Made Job ${written.status?.jobName}.`);
        return written;
      }
      case 'mirror':
        await mirror.change(scanId, { phase: action.phase, pages: action.pages });
        state.mirrored = { phase: action.phase, pages: action.pages };
        state.mirroredAt = now;
        return scan;
      case 'ingest':
        return traces.during('ingest', scan, scanId, () => ingest(facts, scan, action.stored, signal));
      case 'end':
        return writeEnd(facts, scan, action.end, signal);
      case 'giveUpPod':
        await children.giveUpPod(action.pod, now, signal);
        return scan;
      case 'removeJob':
        await children.removeJob(job!, signal);
        state.removedJob = job!.metadata.uid!;
        return scan;
      case 'finish':
        await traces.during('settle', scan, scanId, () => mirror.finish(scan, scanId));
        return scan;
      case 'release':
        return scanClient.patchMetadata(
          scan,
          { finalizers: (scan.metadata.finalizers ?? []).filter((name) => name !== SETTLE_FINALIZER) },
          signal,
        );
      case 'expire':
        await scanClient.remove(scan, signal);
        return scan;
    }
  }

  return async (actions, facts, signal) => {
    let { scan } = facts;
    for (const action of actions) {
      signal.throwIfAborted();
      scan = await act(action, facts, scan, signal);
    }
  };
}
