/** The rules of a ScanSchedule's definition refuse what the operator would refuse later. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { parse } from 'yaml';
import { brokenRules } from '../../local/kube/schemas/cel.ts';
import type { Schema } from '../../local/kube/types.ts';
import { timeZoneOf } from '../../core/schedule/cron/time-zone.ts';
import { parseSchedule } from '../../core/schedule/times.ts';
import { scheduleText } from '../support/schedule-expressions.ts';

const text = readFileSync(join(import.meta.dirname, '..', '..', 'helm', 'files', 'crds', 'scanschedules.yaml'), 'utf8');
const { spec } = parse(text) as { spec: { versions: { schema: { openAPIV3Schema: Schema } }[] } };
const fields = spec.versions[0]!.schema.openAPIV3Schema.properties!['spec']!.properties!;

const messages = (field: 'schedule' | 'timeZone', value: string): string[] =>
  brokenRules(value, undefined, fields[field]!, field).map(({ message }) => message);

/** What the operator says of it, or null if it accepts it. Days that never come are for the operator alone. */
function refusal(schedule: string): string | null {
  const parsed = parseSchedule(schedule);
  return parsed.ok || parsed.message.includes('it never fires') ? null : parsed.message;
}

describe('rules for spec.schedule', () => {
  it('refuse the same expressions as the operator', () => {
    let [accepted, refused] = [0, 0];
    fc.assert(
      fc.property(scheduleText, (schedule) => {
        const [byRules, byOperator] = [messages('schedule', schedule), refusal(schedule)];
        expect(byRules.length > 0, `${JSON.stringify(schedule)}: ${byRules.join('; ')} / ${byOperator}`).to.equal(byOperator !== null);
        if (byOperator === null) accepted += 1;
        else refused += 1;
      }),
      { numRuns: 1000 },
    );
    expect(Math.min(accepted, refused)).to.be.above(100);
  });

  it('leave alone what an update does not change, so that the operator can report on older objects', () => {
    for (const schedule of ['61 * * * *', '@every 1s', '@every 9999999h', '99999999999999999999-5 * * * *'])
      expect(brokenRules(schedule, schedule, fields['schedule']!, 'schedule'), schedule).to.deep.equal([]);
    expect(brokenRules('62 * * * *', '61 * * * *', fields['schedule']!, 'schedule')).to.have.length(1);
    for (const zone of ['Europe/Atlantis', 'local'])
      expect(brokenRules(zone, zone, fields['timeZone']!, 'timeZone'), zone).to.deep.equal([]);
  });

  const NAMED: readonly [string, RegExp][] = [
    ['61 * * * *', /the minute in schedule must be 0 to 59/],
    ['* * * * fri-mon', /a range in schedule must not end before it begins/],
    ['* * * *', /must have five fields/],
    ['@fortnightly', /must be @yearly, @annually/],
    ['@every 10s', /at least 1m/],
    ['TZ=UTC 0 0 * * *', /set timeZone/],
  ];
  for (const [schedule, message] of NAMED)
    it(`say what is allowed instead of "${schedule}", in one message`, () => {
      const [first, ...more] = messages('schedule', schedule);
      expect(first).to.match(message);
      expect(more).to.deep.equal([]);
    });
});

describe('rules for spec.timeZone', () => {
  it('accept every zone that the operator knows', () => {
    const OLDER = ['US/Eastern', 'GB', 'Zulu', 'EST5EDT', 'Etc/GMT+5', 'Etc/UTC', 'UTC', 'GMT0', 'PRC', 'America/Argentina/ComodRivadavia'];
    for (const zone of [...Intl.supportedValuesOf('timeZone'), ...OLDER]) {
      expect(messages('timeZone', zone), zone).to.deep.equal([]);
      expect(timeZoneOf(zone), zone).to.not.equal(null);
    }
  });

  it('refuse other names', () => {
    for (const zone of ['Europe/Atlantis', 'europe/berlin', 'local', '+01:00', 'posixrules', 'TZ=UTC', ' UTC'])
      expect(messages('timeZone', zone), zone).to.have.length(1);
  });
});
