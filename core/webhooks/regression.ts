/** What `schedule.regressed` says: the schedule, and how its last scan differs from the one before it. Numbers only, never findings. */
import type { ScanComparison } from '../protocol/scan-schedules.ts';

export interface ScheduleRegression {
  namespace: string;
  name: string;
  url: string;
  /** Of the last scan, and of the one that it was compared with. */
  scanId: string;
  previousScanId: string;
  /** Whether the last scan met its thresholds. Null without thresholds. */
  passed: boolean | null;
  /** The numbers of violations. Null if the results could not be compared. */
  comparison: Omit<ScanComparison, 'scan' | 'previous'> | null;
}
