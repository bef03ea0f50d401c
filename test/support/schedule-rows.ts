import { withDefaults } from '../../core/scan/options.ts';
import { siteOf } from '../../core/scan/site.ts';
import { optionsKeyOf } from '../../stores/scans/scan-row.ts';
import type { ScheduleRow } from '../../stores/schedules/schedules.ts';

/** A stored schedule. */
export function scheduleRow(change: Partial<ScheduleRow> = {}): ScheduleRow {
  const { url = 'https://site.test/' } = change;
  return {
    operatorClass: 'curbcut',
    namespace: 'team',
    name: 'nightly',
    displayName: null,
    organisation: 'acme',
    url,
    site: siteOf(url),
    optionsKey: optionsKeyOf({ options: withDefaults({ url }) }),
    maxPages: 50,
    source: { by: 'manifest', tool: null, application: null },
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
