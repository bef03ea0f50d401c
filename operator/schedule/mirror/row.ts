/** What MongoDB holds of a ScanSchedule. Pure. */
import { createHash } from 'node:crypto';
import { scanIdOf, type AccessibilityScan } from '../../../core/protocol/custom-resources.ts';
import type { ScanSchedule } from '../../../core/protocol/scan-schedules.ts';
import { sourceOf } from '../../../core/schedule/source.ts';
import { withDefaults } from '../../../core/scan/options.ts';
import { isTerminal } from '../../../core/scan/phases.ts';
import { siteOf } from '../../../core/scan/site.ts';
import { optionsKeyOf } from '../../../stores/scans/options-key.ts';
import type { LastScheduledScan, ScheduleProblem, ScheduleRow } from '../../../stores/schedules/schedules.ts';
import { conditionOf } from '../../runtime/conditions.ts';

export interface RowFacts {
  schedule: ScanSchedule;
  /** The scans that the schedule owns. */
  children: readonly AccessibilityScan[];
  organisation: string;
  operatorClass: string;
  apiNamespace: string;
  /** Whether the schedule is recorded as one of the dashboard. */
  claimed: boolean;
}

export function rowOf({ schedule, children, organisation, operatorClass, apiNamespace, claimed }: RowFacts): ScheduleRow {
  const { metadata, spec, status = {} } = schedule;
  const { url, auth } = spec.scanTemplate.spec;
  const options = withDefaults(spec.scanTemplate.spec);
  return {
    operatorClass,
    namespace: metadata.namespace!,
    name: metadata.name,
    organisation,
    url,
    site: siteOf(url),
    optionsKey: optionsKeyOf({ options, auth }),
    maxPages: options.maxPages,
    source: sourceOf(schedule, claimed),
    schedule: spec.schedule,
    timeZone: spec.timeZone ?? null,
    suspended: spec.suspend === true,
    nextAt: dateOf(status.nextScheduleTime),
    lastScheduledAt: dateOf(status.lastScheduleTime),
    lastScan: lastScanOf(schedule, children, apiNamespace),
    lastPassedAt: dateOf(status.lastPassedTime),
    active: status.activeCount ?? 0,
    regressed: problemOf(schedule, 'Regressed'),
    stalled: problemOf(schedule, 'Stalled'),
  };
}

/** Identifies the content of a row. */
export function digestOf(row: ScheduleRow): string {
  return createHash('sha256').update(JSON.stringify(row)).digest('base64url');
}

const dateOf = (time: string | undefined): Date | null => (time === undefined ? null : new Date(time));

function problemOf({ status }: ScanSchedule, type: 'Regressed' | 'Stalled'): ScheduleProblem | null {
  const condition = conditionOf(status?.conditions, type);
  if (condition?.status !== 'True') return null;
  const { reason, message, lastTransitionTime } = condition;
  return { reason, message, since: new Date(lastTransitionTime) };
}

/** The status names the last scan with a result. A later one without a result is only known while its resource exists. */
function lastScanOf({ status }: ScanSchedule, children: readonly AccessibilityScan[], apiNamespace: string): LastScheduledScan | null {
  const ended = children.flatMap((scan): LastScheduledScan[] => {
    const { phase, passed, completionTime } = scan.status ?? {};
    if (phase === undefined || !isTerminal(phase) || completionTime === undefined) return [];
    return [{ scanId: scanIdOf(scan, apiNamespace), phase, passed: passed ?? null, endedAt: new Date(completionTime) }];
  });
  const completed = status?.lastCompleted;
  if (completed !== undefined && !ended.some(({ scanId }) => scanId === completed.scanId)) {
    const { scanId, passed = null, completionTime } = completed;
    ended.push({ scanId, phase: 'done', passed, endedAt: new Date(completionTime) });
  }
  // Ends are whole seconds. The ID gives those of the same second a stable order.
  const [last] = ended.toSorted((a, b) => b.endedAt.getTime() - a.endedAt.getTime() || b.scanId.localeCompare(a.scanId));
  return last ?? null;
}
