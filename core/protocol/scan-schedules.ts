/** The ScanSchedule resource (`crds/scanschedules.yaml`): creates AccessibilityScans at the times of a cron expression, as a CronJob creates Jobs. */
import type { AccessibilityScanSpec, Condition, KubernetesObject, ObjectMeta } from './custom-resources.ts';

/** On scans: the name of the ScanSchedule that created them. */
export const SCHEDULE_LABEL = 'curbcut.dev/schedule';
/** On scans of a schedule: the time at which they were due, without jitter (RFC 3339). */
export const SCHEDULED_AT_ANNOTATION = 'curbcut.dev/scheduled-at';
/** On a ScanSchedule: a token that requests a run now. A new token is a new run; the same one is run once. */
export const RUN_ANNOTATION = 'curbcut.dev/run';
/** On a ScanSchedule: what writes it, if that is known. */
export const MANAGED_BY_LABEL = 'app.kubernetes.io/managed-by';
/** Marks the schedules of the dashboard as the value of `MANAGED_BY_LABEL`, and is the field manager that writes them. */
export const DASHBOARD_MANAGER = 'curbcut-dashboard';
/**
 * Whether a schedule, or a scan of one, was made by the dashboard according to its label. Such a one is never charged to the
 * organisation of the namespace, which all organisations share.
 */
export const isOfDashboard = ({ namespace, labels }: Pick<ObjectMeta, 'namespace' | 'labels'>, apiNamespace: string): boolean =>
  namespace === apiNamespace && labels?.[MANAGED_BY_LABEL] === DASHBOARD_MANAGER;
/** The number of schedules that the dashboard keeps for an organisation. */
export const DASHBOARD_SCHEDULES_MAX = 50;
/** CronJob's limit: the names of its scans append up to 11 characters to it. */
export const SCHEDULE_NAME_MAX = 52;
/** The longest `spec.displayName`, in characters. */
export const SCHEDULE_DISPLAY_NAME_MAX = 100;
/** The longest `spec.schedule`, in characters. */
export const SCHEDULE_TEXT_MAX = 256;
/** `status.active` lists at most this many scans; `status.activeCount` counts all. */
export const ACTIVE_LISTED_MAX = 100;

export type ConcurrencyPolicy = 'Allow' | 'Forbid' | 'Replace';

export interface ScanScheduleSpec {
  /** Five cron fields, or a macro such as `@daily`. */
  schedule: string;
  /** The name for people. Default: they call it by its site. */
  displayName?: string;
  /** A name of the IANA time zone database. Default: UTC. */
  timeZone?: string;
  concurrencyPolicy?: ConcurrencyPolicy;
  startingDeadlineSeconds?: number;
  suspend?: boolean;
  successfulScansHistoryLimit?: number;
  failedScansHistoryLimit?: number;
  /** Runs start up to this many seconds late; a schedule always gets the same delay. */
  jitterSeconds?: number;
  scanTemplate: { metadata?: Pick<ObjectMeta, 'labels' | 'annotations'>; spec: AccessibilityScanSpec };
}

/** The difference between the last two completed scans of a schedule, in violations: failing elements of one rule on one page. */
export interface ScanComparison {
  /** The name of the scan that is compared, and of the one before it. */
  scan: string;
  previous: string;
  new: number;
  /** How many of the new ones are on pages that the previous scan did not test. */
  onNewPages: number;
  /** How many of the new ones are known issues, which are no regression. Absent: none. */
  newKnown?: number;
  /** Root causes of new violations that the previous scan does not have anywhere. */
  newRootCauses: number;
  fixed: number;
  unchanged: number;
  /** Violations of the previous scan on pages that the last one did not test. */
  notTested: number;
}

/** The last completed scan of a schedule. */
export interface CompletedScan {
  name: string;
  scanId: string;
  completionTime: string;
  /** Absent without thresholds. */
  passed?: boolean;
  /** As in the status of the scan. Absent if an operator recorded the scan that did not know the field yet. */
  score?: string;
  /** The number of violations over all pages. Absent as `score` is. */
  violations?: number;
}

/** The last failed scan of a schedule. */
export interface FailedScan {
  name: string;
  completionTime: string;
  /** Why it failed. */
  message: string;
}

/** The schedule that the operator read last. Times before `since` are not due, so that an edit does not start scans for past times. */
export interface ObservedSchedule {
  schedule: string;
  timeZone?: string;
  since: string;
}

export interface ScanScheduleStatus {
  observedGeneration?: number;
  /** The number of scans of this schedule that have not ended. */
  activeCount?: number;
  /** The oldest of them. */
  active?: { name: string; uid: string }[];
  lastScheduleTime?: string;
  /** The last scheduled time at which no scan was started. Events report each one once. */
  lastMissedTime?: string;
  lastSuccessfulTime?: string;
  /** When the last scan ended that met its thresholds. */
  lastPassedTime?: string;
  /** Without jitter, as `lastScheduleTime`. */
  nextScheduleTime?: string;
  observedSchedule?: ObservedSchedule;
  /** The last value of `RUN_ANNOTATION` that was acted upon. */
  lastRunRequest?: string;
  /** The last scan that completed. The next one is compared with it. */
  lastCompleted?: CompletedScan;
  comparison?: ScanComparison;
  lastFailed?: FailedScan;
  /** The number of scans that failed since the last one with a result. */
  consecutiveFailures?: number;
  conditions?: Condition[];
}

export interface ScanSchedule extends KubernetesObject {
  spec: ScanScheduleSpec;
  status?: ScanScheduleStatus;
}
