/** A scan in each state that tools tell apart, as its status functions make it, and the verdict of kstatus. */
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import * as reasons from '../../operator/scan/policy/condition-reasons.ts';
import type { EndReason } from '../../operator/scan/policy/condition-reasons.ts';
import {
  admittedStatus,
  cancelingStatus,
  endedStatus,
  observedStatus,
  outageStatus,
  QUEUE_PAUSED,
  replacedStatus,
  resultStatus,
  vettedStatus,
  waitingStatus,
  withStatus,
  type StatusPatch,
} from '../../operator/scan/policy/status.ts';
import { progressOf, statusChange } from '../../operator/scan/policy/progress.ts';
import { jobWith, NOW, runningPod, SCAN_ID, scanWith, factsOf } from './scan-samples.ts';

/** The verdicts of kstatus, by which Flux and other tools judge resources. */
export type Kstatus = 'InProgress' | 'Current' | 'Failed' | 'Terminating';

export interface ScanState {
  scan: AccessibilityScan;
  kstatus: Kstatus;
}

const PAGES = { requested: 5, reserved: 5 };
const THRESHOLDS = { spec: { thresholds: { minScore: 90 } } };
const VERIFIED = { bytes: 10, sha256: 'a'.repeat(64) };

/** A scan before the operator has seen it. The default of its status is that of the custom resource definition. */
const fresh = (rest: Parameters<typeof scanWith>[1] = {}): AccessibilityScan => scanWith({ observedGeneration: -1 }, rest);

/** Applies the patches of several steps. */
function after(scan: AccessibilityScan, ...steps: ((scan: AccessibilityScan) => StatusPatch)[]): AccessibilityScan {
  return steps.reduce((now, step) => withStatus(now, step(now)), scan);
}

const vetted = (admitted: boolean) => (scan: AccessibilityScan) =>
  vettedStatus(scan, { organisation: 'acme', pages: PAGES }, Number(admitted), NOW);

const running = (scan: AccessibilityScan): StatusPatch => {
  const pods = [runningPod(0)];
  return statusChange(scan, progressOf(factsOf({ scan, pods })), jobWith(), NOW)!.patch;
};

const ending = (end: EndReason) => (scan: AccessibilityScan) => endedStatus(scan, end, NOW);

const done =
  (score: number, passed: boolean | null, message: string | null = null, partial = false) =>
  (scan: AccessibilityScan): StatusPatch => {
    const violations = { total: 3, critical: 1, serious: 2, moderate: 0, minor: 0 };
    const outcome = { score, violations, pages: { scanned: 2, failed: 0, total: 2 } };
    return resultStatus(scan, SCAN_ID, { partial, outcome, verdict: { passed, message }, export: VERIFIED, pdf: VERIFIED }, NOW);
  };

const canceled = ending(reasons.canceled(fresh(), { scanned: 2, failed: 0, total: 9 }, 'the scanner was not running'));

/** The same scan after its author has changed the TTL, as the API server stores it. */
const withNewTtl = (scan: AccessibilityScan): AccessibilityScan => ({
  ...scan,
  metadata: { ...scan.metadata, generation: 2 },
  spec: { ...scan.spec, ttlSecondsAfterFinished: 60 },
});

const live = (scan: AccessibilityScan): ScanState => ({ scan, kstatus: 'InProgress' });
const passing = (scan: AccessibilityScan): ScanState => ({ scan, kstatus: 'Current' });
const failing = (scan: AccessibilityScan): ScanState => ({ scan, kstatus: 'Failed' });

export const SCAN_STATES: Readonly<Record<string, ScanState>> = {
  'just created': live(fresh()),
  'held back, because no name server answers': live(after(fresh(), (scan) => waitingStatus(scan, reasons.NAME_SERVERS_UNAVAILABLE, NOW)!)),
  'waiting in its queue': live(after(fresh(THRESHOLDS), vetted(false))),
  'waiting for a queue that does not exist': live(
    after(fresh(), vetted(false), (scan) => waitingStatus(scan, reasons.queueNotFound('nightly', 'curbcut'), NOW)),
  ),
  'waiting in a paused queue': live(after(fresh(), vetted(false), (scan) => waitingStatus(scan, QUEUE_PAUSED, NOW))),
  admitted: live(after(fresh(), vetted(false), (scan) => admittedStatus(scan, NOW))),
  running: live(after(fresh(THRESHOLDS), vetted(true), running)),
  'running, with results that cannot be read': live(after(fresh(), vetted(true), running, (scan) => outageStatus(scan, 'scan-job', NOW))),
  'running again without results of its first Job': live(
    after(fresh(), vetted(true), running, (scan) => replacedStatus(scan, 'job-uid', reasons.RUN_AGAIN, NOW)),
  ),
  'done without thresholds': passing(after(fresh(), vetted(true), running, done(80, null))),
  'done and passed': passing(after(fresh(THRESHOLDS), vetted(true), running, done(95, true))),
  'done, below a threshold': failing(
    after(fresh(THRESHOLDS), vetted(true), running, done(80, false, 'The score is 80, below the minimum of 90.')),
  ),
  failed: failing(after(fresh(), vetted(true), running, ending(reasons.JOB_LOST))),
  'failed before it was charged': failing(after(fresh(), ending(reasons.noOrganisation('team')))),
  'failed with thresholds': failing(after(fresh(THRESHOLDS), vetted(true), running, ending(reasons.NO_RESULTS))),
  'canceled without thresholds': passing(after(fresh(), vetted(true), running, canceled)),
  'canceled with thresholds': failing(after(fresh(THRESHOLDS), vetted(true), running, canceled)),
  'being canceled': live(after(fresh(THRESHOLDS), vetted(true), running, (scan) => cancelingStatus(scan, NOW))),
  'canceled with a partial report': passing(after(fresh(), vetted(true), running, done(80, null, 'x', true))),
  'canceled with a partial report and thresholds': failing(after(fresh(THRESHOLDS), vetted(true), running, done(95, false, 'x', true))),
  'canceled before it was vetted': passing(after(fresh(), ending(reasons.canceled(fresh(), { scanned: 0, failed: 0, total: 0 }, '')))),
  'done, with a new TTL that the operator has not seen': live(withNewTtl(after(fresh(), vetted(true), running, done(80, null)))),
  'done, with a new TTL': passing(
    after(withNewTtl(after(fresh(), vetted(true), running, done(80, null))), (scan) => observedStatus(scan, NOW)),
  ),
  'being deleted': {
    scan: after(fresh({ metadata: { deletionTimestamp: '2026-03-02T10:00:00Z' } }), vetted(true), running),
    kstatus: 'Terminating',
  },
};
