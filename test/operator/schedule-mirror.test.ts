import { expect } from 'chai';
import type { ListedSchedule } from '../../stores/schedules/schedules.ts';
import { useContext, ORGANISATION, TARGET, until } from './context.ts';
import { applySchedule, NOT_DUE, type Schedule } from './schedule-context.ts';

const OTHER = 'globex';
/** Often enough that tests need not wait. */
const SOON = { schedulesEveryMs: 200 };

describe('operator: schedules in MongoDB', () => {
  const context = useContext();
  before(async () => {
    await context.grant(1_000);
    await context.stores.organisations.add({ id: OTHER, displayName: 'Globex', plan: 'test', namespaces: [] });
  });
  afterEach(() => context.rest());

  const rowOf = async ({ namespace, name }: Schedule, organisation = ORGANISATION): Promise<ListedSchedule | undefined> =>
    (await context.stores.schedules.list(organisation, { limit: 100 })).find((row) => row.namespace === namespace && row.name === name);

  const shows = (schedule: Schedule, what: string, is: (row: ListedSchedule) => unknown, organisation?: string) =>
    until(`the stored schedule is ${what}`, async () => {
      const row = await rowOf(schedule, organisation);
      return row !== undefined && is(row) ? row : null;
    });

  it('are stored when they are created, changed and suspended, and removed when they are deleted', async () => {
    context.start(SOON);
    const schedule = await applySchedule(context, { timeZone: 'Europe/Berlin' });
    const row = await shows(schedule, 'ready', ({ nextAt, observedAt }) => nextAt !== null && observedAt !== null);
    expect(row).to.include({ url: TARGET, schedule: NOT_DUE, timeZone: 'Europe/Berlin', suspended: false, organisation: ORGANISATION });
    await schedule.patch({ spec: { suspend: true } });
    await shows(schedule, 'suspended', ({ suspended, nextAt }) => suspended && nextAt === null);
    await schedule.patch({ spec: { suspend: false, schedule: '0 0 30 2 *' } });
    const { stalled } = await shows(schedule, 'stalled', (read) => read.stalled !== null);
    expect(stalled).to.include({ reason: 'InvalidSchedule' });
    await schedule.remove();
    await until('nothing is stored', async () => (await rowOf(schedule)) === undefined);
  });
});
