import { expect } from 'chai';
import { createOperatorMetrics } from '../../operator/metrics.ts';
import { KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import type { ListedSchedule } from '../../stores/schedules/schedules.ts';
import { useContext, ORGANISATION, TARGET, until } from './context.ts';
import { logWrites } from './request-log.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { samplesOf } from '../support/metric-samples.ts';
import { showCount } from '../support/counts.ts';
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

  it('are removed if they were deleted while no operator ran, and the others are not written again', async () => {
    const operator = context.start(SOON);
    const [gone, kept] = [await applySchedule(context), await applySchedule(context)];
    for (const schedule of [gone, kept]) await shows(schedule, 'ready', ({ nextAt }) => nextAt !== null);
    await operator.stop();
    await gone.remove();
    context.commands.length = 0;
    context.start(SOON);
    await until('the deleted one is not stored', async () => (await rowOf(gone)) === undefined);
    expect(await rowOf(kept)).to.include({ name: kept.name });
    expect(context.commands.filter((command) => command.endsWith(' schedules') && !command.startsWith('find'))).to.deep.equal([
      'delete schedules',
    ]);
    await kept.remove();
  });

  it('move with their namespace to another organisation, and are not stored without one', async () => {
    const { organisations } = context.stores;
    context.start(SOON);
    const schedule = await applySchedule(context, {}, { namespace: context.strangers });
    await schedule.reaches('without an organisation', ({ status }) =>
      status?.conditions?.some(({ reason }) => reason === 'NoOrganisation'),
    );
    expect(await rowOf(schedule)).to.equal(undefined);
    await organisations.setNamespaces(ORGANISATION, [context.team, context.strangers]);
    await shows(schedule, 'of the first organisation', () => true);
    await organisations.setNamespaces(ORGANISATION, [context.team]);
    await until('nothing is stored', async () => (await rowOf(schedule)) === undefined);
    await organisations.setNamespaces(OTHER, [context.strangers]);
    await shows(schedule, 'of the other organisation', () => true, OTHER);
    expect(await rowOf(schedule)).to.equal(undefined);
    await organisations.setNamespaces(OTHER, []);
    await schedule.remove();
  });

  it('name the scan of a run, with few writes and none to Kubernetes', async () => {
    const { connection, writes } = logWrites(context.connection);
    context.start({}, { connection });
    const schedule = await applySchedule(context);
    await shows(schedule, 'ready', ({ nextAt }) => nextAt !== null);
    writes.length = 0;
    context.commands.length = 0;
    const scan = await schedule.requested(await schedule.run());
    await shows(schedule, 'running', ({ active }) => active === 1);
    const pod = await scan.pod();
    await scan.startPod(pod);
    await scan.publish(await scan.upload(pod, bytesOf(reportOf(await scan.input()))));
    await scan.settles();
    const { status } = await schedule.reaches('compared', (read) => read.status?.lastCompleted !== undefined);
    const row = await shows(schedule, 'at rest', ({ active, lastScan }) => active === 0 && lastScan !== null);
    expect(row.lastScan).to.deep.equal({
      scanId: scan.id,
      phase: 'done',
      passed: null,
      endedAt: new Date(status!.lastCompleted!.completionTime),
    });
    const updates = context.commands.filter((command) => command === 'update schedules').length;
    const patches = writes.filter(({ request }) => request === 'PATCH scanschedules/status').length;
    expect(updates).to.be.at.most(patches);
    expect(writes.map(({ request }) => request).filter((request) => request.includes('scanschedules'))).to.have.lengthOf(patches);
    showCount(updates, 'MongoDB writes that mirror a schedule per run');
    await schedule.remove();
  });

  it('stay stored while the cluster cannot list them, and a metric says so', async () => {
    const metrics = createOperatorMetrics();
    const isUnreadable = async () =>
      samplesOf(await metrics.registry.metrics()).get('curbcut_schedule_series_missing{reason="unreadable"}') === 1;
    const operator = context.start(SOON, { metrics });
    const schedule = await applySchedule(context);
    await shows(schedule, 'ready', ({ nextAt }) => nextAt !== null);
    expect(await isUnreadable()).to.equal(false);
    await operator.stop();
    let refused = 0;
    const request: typeof context.connection.request = (method, path, options) => {
      if (!path.includes('/scanschedules')) return context.connection.request(method, path, options);
      refused += 1;
      return Promise.reject(new KubernetesError(403, 'Forbidden', 'scanschedules is forbidden'));
    };
    context.commands.length = 0;
    context.start(SOON, { metrics, connection: { ...context.connection, request } });
    const finds = () => context.commands.filter((command) => command === 'find schedules').length;
    await until('the operator has compared twice', async () => refused > 0 && finds() >= 3);
    expect(await rowOf(schedule)).to.not.equal(undefined);
    await until('the metric says that schedules are unreadable', isUnreadable);
    await context.rest();
    await schedule.remove();
  });
});
