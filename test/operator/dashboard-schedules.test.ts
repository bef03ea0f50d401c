/** Schedules of the dashboard: the operator charges the organisation of their record, whatever namespace and labels say. */
import { expect } from 'chai';
import { ORGANISATION_LABEL, scanIdOf } from '../../core/protocol/custom-resources.ts';
import { DASHBOARD_MANAGER, MANAGED_BY_LABEL } from '../../core/protocol/scan-schedules.ts';
import { withDefaults } from '../../core/scan/options.ts';
import { childOf } from '../../operator/schedule/policy/child.ts';
import { SCANS } from '../../operator/scan/kube-types.ts';
import { createScheduleResources, type WantedSchedule } from '../../stores/schedules/schedule-resources.ts';
import { TARGET, until, useContext } from './context.ts';
import { applySchedule, NOT_DUE, scheduleAt } from './schedule-context.ts';

const OWNER = 'globex';

describe('operator: schedules of the dashboard', () => {
  const context = useContext();
  before(async () => {
    await context.stores.organisations.add({ id: OWNER, displayName: 'Globex', plan: 'test', namespaces: [] });
    await context.stores.credits.grant(OWNER, 'first', 100);
  });
  afterEach(() => context.rest());

  const wanted: WantedSchedule = {
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

  it('without a record cost nobody anything, whatever their labels and their namespace say', async () => {
    const landlord = 'landlord';
    await context.stores.organisations.add({ id: landlord, displayName: 'Landlord', plan: 'test', namespaces: [context.namespace] });
    await context.stores.credits.grant(landlord, 'first', 100);
    context.start({ schedulesEveryMs: 200 });
    const labels = { [MANAGED_BY_LABEL]: DASHBOARD_MANAGER, [ORGANISATION_LABEL]: OWNER };
    const forged = await applySchedule(context, {}, { namespace: context.namespace, labels });
    await forged.run();
    await forged.reaches('not ready', ({ status }) => status?.conditions?.some(({ message }) => message.includes('create it again')));
    expect(await forged.scans()).to.deep.equal([]);
    for (const organisation of [OWNER, landlord])
      expect(await context.stores.schedules.find(organisation, { namespace: context.namespace, name: forged.name })).to.equal(null);
    await forged.remove();
  });

  it('whose record is removed after a run was created charge that run to nobody', async () => {
    const { namespace } = context;
    const landlord = (await context.stores.organisations.findByNamespace(namespace))!.id;
    const name = 'shop-5678efab';
    await context.stores.dashboardSchedules.add({ namespace, name, organisation: OWNER, createdAt: new Date(), values: '' });
    const written = await createScheduleResources(context.connection, { namespace }).create(name, wanted);
    if (!written.ok) throw new Error(written.message);
    // As the schedule is deleted between the creation of the scan and its vetting.
    const scan = childOf(written.schedule, { trigger: 'request', token: 'late' });
    await context.connection.request('POST', context.connection.path(SCANS, namespace), { body: scan });
    await context.stores.dashboardSchedules.remove(OWNER, { namespace, name });
    context.start({ schedulesEveryMs: 200 });
    const run = scheduleAt(context, written.schedule);
    const ended = await (await run.requested('late')).reaches('over', ({ status }) => status?.phase === 'failed');
    expect(ended.status!.message).to.match(/deleted in the dashboard.*Nothing was charged/);
    expect(ended.metadata.labels).to.not.have.property(ORGANISATION_LABEL);
    expect((await context.stores.credits.balance(landlord)).held).to.equal(0);
    await run.remove();
  });
});
