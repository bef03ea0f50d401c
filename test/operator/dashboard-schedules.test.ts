/** Schedules of the dashboard: the operator charges the organisation of their record, whatever namespace and labels say. */
import { expect } from 'chai';
import { ORGANISATION_LABEL, scanIdOf } from '../../core/protocol/custom-resources.ts';
import { withDefaults } from '../../core/scan/options.ts';
import { createScheduleResources, type WantedSchedule } from '../../stores/schedules/schedule-resources.ts';
import { TARGET, until, useContext } from './context.ts';
import { NOT_DUE, scheduleAt } from './schedule-context.ts';

const OWNER = 'globex';

describe('operator: schedules of the dashboard', () => {
  const context = useContext();
  before(async () => {
    await context.stores.organisations.add({ id: OWNER, displayName: 'Globex', plan: 'test', namespaces: [] });
    await context.stores.credits.grant(OWNER, 'first', 100);
  });
  afterEach(() => context.rest());

  const wanted: WantedSchedule = {
    displayName: 'Shop, every night',
    schedule: NOT_DUE,
    timeZone: 'Europe/Berlin',
    suspend: false,
    options: withDefaults({ url: TARGET, maxPages: 3 }),
    metadata: { team: 'shop' },
  };

  it('run at the cost of the organisation of their record, once for each request, and are stored with their source', async () => {
    context.start({ schedulesEveryMs: 200 });
    const { namespace } = context;
    const resources = createScheduleResources(context.connection, { namespace });
    const name = 'shop-1234abcd';
    expect(
      await context.stores.dashboardSchedules.add({ namespace, name, organisation: OWNER, createdAt: new Date(), values: '' }),
    ).to.not.equal(null);
    const written = await resources.create(name, wanted);
    if (!written.ok) throw new Error(written.message);
    const row = await until('the schedule is stored', async () => {
      const stored = await context.stores.schedules.find(OWNER, { namespace, name });
      return stored?.nextAt ? stored : null;
    });
    expect(row).to.deep.include({ organisation: OWNER, maxPages: 3, source: { by: 'dashboard' } });

    await resources.run(written.schedule, 'one');
    const schedule = scheduleAt(context, written.schedule);
    await (await schedule.requested('one')).reaches('paid for', ({ status }) => status?.pages?.reserved === 3);
    await resources.run(written.schedule, 'one');
    // The change of another field does not take the run back, and starts no other one.
    const read = (await resources.find(name))!;
    expect((await resources.replace(read, { ...read.spec, suspend: true })).ok).to.equal(true);
    await schedule.reaches('suspended', ({ status }) => status?.conditions?.some(({ reason }) => reason === 'Suspended'));
    const [scan, ...others] = await schedule.scans();
    expect(others).to.deep.equal([]);
    expect(scan!.metadata.labels).to.include({ [ORGANISATION_LABEL]: OWNER });
    const scanRow = await context.stores.scans.find(scanIdOf(scan!, namespace));
    expect(scanRow).to.deep.include({ organisation: OWNER, origin: 'manifest', schedule: name, metadata: { team: 'shop' } });
    expect((await context.stores.credits.balance(OWNER)).held).to.equal(3);

    await resources.remove(read);
    await until('nothing is stored', async () => (await context.stores.schedules.find(OWNER, { namespace, name })) === null);
    await until('the credits are back', async () => (await context.stores.credits.balance(OWNER)).held === 0);
  });
});
