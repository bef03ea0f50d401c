/** Tracks the phase of every scan, to count scans per phase and measure the time in each phase. */
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import type { LivePhase } from '../../core/scan/phases.ts';
import { admittedAt, isAdmitted } from './kube-types.ts';
import { hasEnded, phaseOf } from './policy/status.ts';

/** A phase that is not terminal; `starting` is the part of `queued` in which an admitted scan waits for its pod. */
export type Stage = LivePhase | 'starting';

export interface PhaseChange {
  /** Null if the scan was not known. */
  from: Stage | null;
  /** Null if the scan has ended or was deleted. */
  to: Stage | null;
  /** Time spent in `from`; null if its start was not seen. */
  seconds: number | null;
}

export interface PhaseTracker {
  seen(scan: AccessibilityScan): void;
  gone(scan: AccessibilityScan): void;
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

export function createPhaseTracker({ now, onChange }: { now: () => Date; onChange: (move: PhaseChange) => void }): PhaseTracker {
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

  return { seen: (scan) => move(scan, stageOf(scan)), gone: (scan) => move(scan, null) };
}
