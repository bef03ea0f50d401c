import { expect } from 'chai';
import { createSchedules, type ScheduleRow, type Schedules } from '../../stores/schedules/schedules.ts';
import { scheduleRow as rowWith } from '../support/schedule-rows.ts';
import { useDatabase, useStore } from './database.ts';

describe('stores: schedules', () => {
  const database = useDatabase();
  const schedules = useStore(database, createSchedules);

  it('are stored once per class, namespace and name, and belong to one organisation', async () => {
    await schedules.put(rowWith(), 'a');
    await Promise.all([schedules.put(rowWith({ suspended: true }), 'b'), schedules.put(rowWith({ suspended: true }), 'b')]);
    expect(await schedules.list('acme', { limit: 10 })).to.deep.equal([{ ...rowWith({ suspended: true }), observedAt: null }]);
    await schedules.put(rowWith({ organisation: 'globex' }), 'c');
    expect(await schedules.list('acme', { limit: 10 })).to.deep.equal([]);
    expect(await schedules.list('globex', { limit: 10 })).to.have.lengthOf(1);
    expect(await schedules.digests('curbcut')).to.deep.equal(new Map([['team/nightly', 'c']]));
    await schedules.remove(rowWith({ operatorClass: 'other' }));
    expect(await schedules.list('globex', { limit: 10 })).to.have.lengthOf(1);
    await schedules.remove(rowWith());
    await schedules.remove(rowWith());
    expect(await schedules.digests('curbcut')).to.deep.equal(new Map());
  });

  it('are listed in pages by namespace and name, with the time at which their operator saw them', async () => {
    const rows = ['a/2', 'a/1', 'b/1', 'b/0', 'c/9'].map((key) => {
      const [namespace, name] = key.split('/') as [string, string];
      return rowWith({ namespace, name, organisation: 'initech', operatorClass: namespace === 'c' ? 'other' : 'curbcut' });
    });
    for (const row of rows) await schedules.put(row, 'x');
    const at = new Date('2030-01-01T00:00:00Z');
    await schedules.observed('curbcut', new Date(0));
    await schedules.observed('curbcut', at);
    const seen: string[] = [];
    let after: ScheduleRow | null = null;
    for (;;) {
      const page: Awaited<ReturnType<Schedules['list']>> = await schedules.list('initech', { after, limit: 2 });
      if (page.length === 0) break;
      seen.push(...page.map(({ namespace, name, observedAt }) => `${namespace}/${name} ${observedAt?.getTime() ?? 'unknown'}`));
      after = page.at(-1)!;
    }
    const time = at.getTime();
    expect(seen).to.deep.equal([`a/1 ${time}`, `a/2 ${time}`, `b/0 ${time}`, `b/1 ${time}`, 'c/9 unknown']);
  });
});
