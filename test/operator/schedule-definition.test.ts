/** What the API server itself accepts and rejects in a ScanSchedule. */
import { expect } from 'chai';
import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import { API_VERSION, GROUP, SCHEDULES_PLURAL, VERSION } from '../../core/protocol/custom-resources.ts';
import { SCHEDULE_NAME_MAX, type ScanSchedule, type ScanScheduleSpec } from '../../core/protocol/scan-schedules.ts';
import { parseSchedule } from '../../core/schedule/times.ts';
import { scheduleText } from '../support/schedule-expressions.ts';
import { useContext, TARGET } from './context.ts';

const SCHEDULES = { group: GROUP, version: VERSION, plural: SCHEDULES_PLURAL };
const MERGE = 'application/merge-patch+json';

describe('a ScanSchedule at the API server', () => {
  const context = useContext();

  const apply = (spec: object, name = `s-${randomUUID().slice(0, 8)}`) =>
    context.connection.request<ScanSchedule>('POST', context.connection.path(SCHEDULES, context.team), {
      body: {
        apiVersion: API_VERSION,
        kind: 'ScanSchedule',
        metadata: { name, namespace: context.team },
        spec: { schedule: '0 3 * * *', scanTemplate: { spec: { url: TARGET } }, ...spec },
      },
    });
  const rejection = (request: Promise<unknown>): Promise<string> =>
    request.then(
      () => 'was accepted',
      (error: Error) => error.message,
    );

  it('has defaults for every field that a short manifest leaves out, those of the scan included', async () => {
    const { spec } = await apply({});
    expect(spec).to.deep.include({
      schedule: '0 3 * * *',
      concurrencyPolicy: 'Allow',
      suspend: false,
      successfulScansHistoryLimit: 3,
      failedScansHistoryLimit: 1,
      jitterSeconds: 0,
    } satisfies Partial<ScanScheduleSpec>);
    expect(spec.scanTemplate.spec).to.include({ url: TARGET, maxPages: 5, class: 'curbcut', queue: 'default' });
  });

  const WRONG: Record<string, { spec: object; says: RegExp }> = {
    'TZ= in the schedule': { spec: { schedule: 'TZ=Europe/Berlin 0 3 * * *' }, says: /set timeZone/ },
    'a minute that no hour has': { spec: { schedule: '61 * * * *' }, says: /the minute in schedule must be 0 to 59/ },
    'four fields': { spec: { schedule: '0 3 * *' }, says: /must have five fields/ },
    'an unknown time zone': {
      spec: { timeZone: 'Europe/Atlantis' },
      says: /unknown time zone Europe\/Atlantis evaluating rule: timeZone must be/,
    },
    'an offset as time zone': { spec: { timeZone: '+01:00' }, says: /IANA/ },
    'a text that is not a quantity': {
      spec: { scanTemplate: { spec: { url: TARGET, podTemplate: { resources: { limits: { memory: 'lots' } } } } } },
      says: /resources\.limits\[memory\].* a limit must be a quantity above 0/,
    },
    'a template with a wrong URL scheme': {
      spec: { scanTemplate: { spec: { url: 'ftp://site.test/' } } },
      says: /http:\/\/ or https:\/\//,
    },
  };
  for (const [what, { spec, says }] of Object.entries(WRONG)) {
    it(`is rejected with ${what}`, async () => {
      expect(await rejection(apply(spec))).to.match(says);
    });
  }

  it('is accepted with quantities in any notation', async () => {
    const resources = { requests: { cpu: '500m', memory: '512Mi' }, limits: { cpu: '.5', memory: '1e9' } };
    await apply({ scanTemplate: { spec: { url: TARGET, podTemplate: { resources } } } });
  });

  it('is rejected with the same expressions that the operator refuses', async () => {
    const texts = fc.sample(scheduleText, 60);
    const rejected = await Promise.all(texts.map(async (schedule) => (await rejection(apply({ schedule }))) !== 'was accepted'));
    for (const [index, schedule] of texts.entries()) {
      const parsed = parseSchedule(schedule);
      const refused = !parsed.ok && !parsed.message.includes('it never fires');
      expect(rejected[index], JSON.stringify(schedule)).to.equal(refused);
    }
  });

  it('is rejected if its name is too long for the names of its scans', async () => {
    expect(await rejection(apply({}, 'n'.repeat(SCHEDULE_NAME_MAX + 1)))).to.match(/at most 52 characters/);
    await apply({}, 'n'.repeat(SCHEDULE_NAME_MAX));
  });

  it('rejects an empty patch of an outdated version, by which a new leader notices that its cache is stale', async () => {
    const { metadata } = await apply({});
    const path = (subresource?: string) => context.connection.path(SCHEDULES, context.team, metadata.name, subresource);
    const confirm = (resourceVersion: string | undefined) =>
      context.connection.request<ScanSchedule>('PATCH', path('status'), {
        contentType: MERGE,
        body: { metadata: { resourceVersion }, status: {} },
      });
    expect((await confirm(metadata.resourceVersion)).status).to.deep.equal({ observedGeneration: -1 });
    const body = { status: { lastScheduleTime: '2026-01-01T00:00:00Z' } };
    await context.connection.request('PATCH', path('status'), { contentType: MERGE, body });
    expect(await rejection(confirm(metadata.resourceVersion))).to.match(/modified/);
  });

  it('can be changed in everything except its class', async () => {
    const { metadata } = await apply({});
    const patch = (spec: object) =>
      context.connection.request<ScanSchedule>('PATCH', context.connection.path(SCHEDULES, context.team, metadata.name), {
        contentType: MERGE,
        body: { spec },
      });
    const changed = await patch({ schedule: '@daily', timeZone: 'Europe/Berlin', scanTemplate: { spec: { maxPages: 7, locale: 'de' } } });
    expect(changed.spec.scanTemplate.spec).to.include({ url: TARGET, maxPages: 7, locale: 'de' });
    expect(await rejection(patch({ scanTemplate: { spec: { class: 'other' } } }))).to.match(/class cannot be changed/);
  });
});
