import type { ScheduleRow } from '../../stores/schedules/schedules.ts';

/** A stored schedule. */
export function scheduleRow(change: Partial<ScheduleRow> = {}): ScheduleRow {
  return {
    operatorClass: 'curbcut',
    namespace: 'team',
    name: 'nightly',
    organisation: 'acme',
    url: 'https://site.test/',
    schedule: '0 3 * * *',
    timeZone: null,
    suspended: false,
    nextAt: new Date('2030-01-01T03:00:00Z'),
    lastScheduledAt: null,
    lastScan: null,
    lastPassedAt: null,
    active: 0,
    regressed: null,
    stalled: null,
    ...change,
  };
}
