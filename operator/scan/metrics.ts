/** The metrics of scans. Labels are bounded: reasons and phases, never IDs. */
import { END_REASONS, LIVE_PHASES, type LivePhase, TERMINAL_PHASES } from '../../core/scan/phases.ts';
import { REQUEUE_REASONS, type RequeueReason } from './policy/condition-reasons.ts';
import { PAGE_FAILURES } from '../../report/schema/page.ts';
import type { MetricFactory } from '../../stores/process-metrics.ts';
import { SHORT_SECONDS } from '../runtime/metrics.ts';
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import type { PageVisit } from './results/verify.ts';
import { admittedAt, isAdmitted } from './kube-types.ts';
import { hasEnded, phaseOf } from './policy/status.ts';
const STAGES: readonly Stage[] = ['starting', ...LIVE_PHASES];
const POD_MESSAGE_RESULTS = ['news', 'repeat', 'refused', 'unknown'] as const;
const INGEST_RESULTS = ['accepted', 'refused', 'error'] as const;

export function createScanMetrics({ counter, gauge, histogram }: MetricFactory) {
  const stages = gauge('scans', 'Number of scans that have not ended, by phase; `starting` scans are admitted and wait for their pod.', {
    phase: STAGES,
  });
  const spent = histogram(
    'scan_phase_duration_seconds',
    'Time that scans spend in a phase, observed when they leave it.',
    [0.5, 1, 2, 5, 10, 30, 60, 120, 300, 900, 3600, 14400],
    { phase: STAGES },
  );
  const ended = counter('scans_ended_total', 'Number of ended scans, by phase and reason.', { phase: [], reason: [] });
  for (const phase of TERMINAL_PHASES) for (const reason of END_REASONS[phase]) ended.inc({ phase, reason }, 0);
  const took = histogram(
    'scan_duration_seconds',
    'Time from the creation of a scan to its end.',
    [5, 10, 30, 60, 120, 300, 900, 3600, 14400],
    { phase: TERMINAL_PHASES },
  );
  const verdicts = counter('scan_verdicts_total', 'Verdicts of completed scans: `passed`, `failed`, or `none` without thresholds.', {
    verdict: ['passed', 'failed', 'none'],
  });
  const uncharged = counter(
    'scans_uncharged_total',
    'Number of completed scans that were not charged, because their credits were not held.',
  );
  const requeued = counter(
    'scans_requeued_total',
    'How often an admitted scan went back into its queue, because the cluster did not let it start, by reason.',
    { reason: REQUEUE_REASONS },
  );
  const pages = counter('pages_total', 'Pages of accepted results, by outcome: `tested`, or the reason why the page was not tested.', {
    outcome: ['tested', ...PAGE_FAILURES],
  });
  const pageTook = histogram(
    'page_duration_seconds',
    'Time per page, including navigation and rules; `outcome` is `tested` or `untested`.',
    [0.25, 0.5, 1, 2, 5, 10, 20, 30, 60],
    { outcome: ['tested', 'untested'] },
  );
  const podMessages = counter('pod_messages_total', 'Messages from scanner pods on the message bus, by result.', {
    result: POD_MESSAGE_RESULTS,
  });
  const ingested = histogram('ingest_duration_seconds', 'Time to verify the results of a pod.', SHORT_SECONDS, { result: INGEST_RESULTS });
  return {
    phaseChanged({ from, to, seconds }: PhaseChange): void {
      if (from !== null) stages.dec({ phase: from });
      if (to !== null) stages.inc({ phase: to });
      if (from !== null && seconds !== null) spent.observe({ phase: from }, seconds);
    },
    stoppedLeading(): void {
      for (const phase of STAGES) stages.set({ phase }, 0);
    },
    /** `passed` is the verdict; null if no thresholds were set. */
    ended(phase: string, reason: string, seconds: number, passed: boolean | null): void {
      ended.inc({ phase, reason });
      took.observe({ phase }, seconds);
      if (phase === 'done') verdicts.inc({ verdict: passed === null ? 'none' : passed ? 'passed' : 'failed' });
    },
    requeued: (reason: RequeueReason): void => requeued.inc({ reason }),
    uncharged: (): void => uncharged.inc(),
    pagesVisited(visits: readonly PageVisit[]): void {
      for (const { outcome, seconds } of visits) {
        pages.inc({ outcome });
        pageTook.observe({ outcome: outcome === 'tested' ? outcome : 'untested' }, seconds);
      }
    },
    /** `unknown`: no live scan has the ID. */
    podMessage: (result: (typeof POD_MESSAGE_RESULTS)[number]): void => podMessages.inc({ result }),
    ingested: (result: (typeof INGEST_RESULTS)[number], seconds: number): void => ingested.observe({ result }, seconds),
  };
}

/** A phase that is not terminal; `starting` is the part of `queued` in which an admitted scan waits for its pod. */
type Stage = LivePhase | 'starting';

export interface PhaseChange {
  /** Null if the scan was not known. */
  from: Stage | null;
  /** Null if the scan has ended or was deleted. */
  to: Stage | null;
  /** Time spent in `from`; null if its start was not seen. */
  seconds: number | null;
}

function stageOf(scan: AccessibilityScan): Stage | null {
  if (hasEnded(scan)) return null;
  const phase = phaseOf(scan) as Stage;
  return phase === 'queued' && isAdmitted(scan) ? 'starting' : phase;
}

/** The time at which a newly seen scan entered its phase; null if its status does not state it. */
function sinceOf(scan: AccessibilityScan, stage: Stage): Date | null {
  if (stage === 'queued') return new Date(scan.metadata.creationTimestamp!);
  return stage === 'starting' ? admittedAt(scan) : null;
}

export function createPhaseTracker({ now, onChange }: { now: () => Date; onChange: (move: PhaseChange) => void }) {
  const known = new Map<string, { stage: Stage; since: Date | null }>();

  function move(scan: AccessibilityScan, to: Stage | null): void {
    const uid = scan.metadata.uid!;
    const before = known.get(uid);
    if ((before?.stage ?? null) === to) return;
    const at = now();
    if (to === null) known.delete(uid);
    else known.set(uid, { stage: to, since: before === undefined ? sinceOf(scan, to) : at });
    const since = before?.since ?? null;
    onChange({ from: before?.stage ?? null, to, seconds: since === null ? null : Math.max(0, at.getTime() - since.getTime()) / 1000 });
  }

  return { seen: (scan: AccessibilityScan) => move(scan, stageOf(scan)), gone: (scan: AccessibilityScan) => move(scan, null) };
}
