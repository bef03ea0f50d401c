/** The input and output of the plan of a ScanSchedule. */
import type { AccessibilityScan } from '../../../core/protocol/custom-resources.ts';
import type { CompletedScan, ScanSchedule, ScanScheduleStatus } from '../../../core/protocol/scan-schedules.ts';
import type { States } from '../../runtime/controller.ts';
import type { MergePatch } from '../../runtime/resource-client.ts';
import type { ComparedReports } from '../../../report/diff/summary.ts';
import type { ParsedSchedule } from '../../../core/schedule/times.ts';

/**
 * The organisation that is charged for a namespace, or for a schedule that is recorded as one of the dashboard (`claimed`). `unknown`
 * while MongoDB is down and was not asked before. `unrecorded` if the dashboard made the schedule, and its record is lost.
 */
export type NamespaceOwner =
  { state: 'unknown' | 'none' | 'unrecorded' } | { state: 'owned'; organisation: string; blocked: boolean; claimed?: true };

/**
 * The difference between two completed scans; or why there is none. `retry`: the cause is an outage. `foreign`: the scan before it is
 * of another organisation or site.
 */
export type ComparisonOutcome = ComparedReports | { ok: false; message: string; retry: boolean; foreign?: true };

export interface ComparisonState {
  completed: CompletedScan;
  previous: CompletedScan;
  /** Null while it is being compared. */
  outcome: ComparisonOutcome | null;
  at: Date | null;
}

export interface Refusal {
  name: string;
  reason: 'NameTaken' | 'CreateRefused';
  message: string;
  at: Date;
}

/** In-memory state per schedule. Losing it, as after a restart, causes extra requests but no second run. */
export interface ScheduleState {
  /** Whether the API server has accepted a write of the status, so that the cache has not missed one of a former leader. */
  confirmed: boolean;
  /** The scans that this process created, until the cache holds them, by name. */
  created: Map<string, { scan: AccessibilityScan; at: Date }>;
  refusal: Refusal | null;
  comparison: ComparisonState | null;
  /**
   * The IDs of recorded scans that ended in the same second as the last one: times are whole seconds. Null before the first
   * plan of this process.
   */
  recorded: Set<string> | null;
  /** The turn that was taken for the next actions, in milliseconds of the monotonic clock; null if none was taken. */
  turnAt: number | null;
}

export type ScheduleStates = States<ScheduleState>;

export const newScheduleState = (): ScheduleState => ({
  confirmed: false,
  created: new Map(),
  refusal: null,
  comparison: null,
  recorded: null,
  turnAt: null,
});

export interface ScheduleFacts {
  schedule: ScanSchedule;
  parsed: ParsedSchedule;
  jitterMs: number;
  /** The scans that the schedule owns, including those that the cache does not hold yet. */
  children: readonly AccessibilityScan[];
  /** The namespace in which the scan ID of an annotation is trusted. */
  apiNamespace: string;
  owner: NamespaceOwner;
  state: ScheduleState;
  now: Date;
}

/** Why a scan is started: its time has come, or somebody asked for it. */
export type Run = { trigger: 'time'; scheduledAt: Date } | { trigger: 'request'; token: string };
export type Trigger = Run['trigger'];

/** Why no scan was started at a scheduled time: another one still ran, it was too late, or a later time has come since. */
export const SKIP_REASONS = ['still_running', 'too_late', 'superseded'] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

/** An Event that is recorded when the status was written, so that two leaders or a crash do not repeat it. */
export interface Note {
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
  skipped?: { reason: SkipReason; count: number };
  failed?: { repeated: boolean };
}

export type StatusPatch = MergePatch<ScanScheduleStatus>;

export type ScheduleAction =
  /** Create the scan of a run. If it exists and belongs to the schedule, the run has been started before. */
  | { do: 'start'; run: Run; scan: AccessibilityScan; dueAt: Date }
  /** Cancel a scan that still runs, because another one takes its place. */
  | { do: 'cancel'; scan: AccessibilityScan }
  /** Start to compare a completed scan with the one before it. */
  | { do: 'compare'; completed: CompletedScan; previous: CompletedScan }
  | { do: 'remove'; scan: AccessibilityScan }
  | {
      do: 'writeStatus';
      status: StatusPatch;
      notes: readonly Note[];
      /** The scan that becomes `lastCompleted`. */
      completed: CompletedScan | null;
    };
