import { expect } from 'chai';
import { SCHEDULED_AT_ANNOTATION, SCHEDULE_LABEL } from '../../core/protocol/scan-schedules.ts';
import { NOWHERE, ORGANISATION, useContext, TARGET, until } from './context.ts';
import { applySchedule, clockAt, minuteOf, NOT_DUE, PATIENT, scheduleCondition, twoMinutes } from './schedule-context.ts';

describe('operator: schedules', function () {
  this.timeout(240_000);
  const context = useContext();
  before(() => context.grant(10_000));
  afterEach(() => context.rest());

  const restartAt = async (time: Date) => {
    await context.rest();
    return context.start(PATIENT, { clock: clockAt(time) });
  };

  it('starts a scan at the scheduled minute, from the template, and reports it', async () => {
    const { schedule: expression, first, second } = twoMinutes();
    // A moment before the time, so that the timer starts the scan.
    context.start(PATIENT, { clock: clockAt(new Date(first.getTime() - 1_500)) });
    const schedule = await applySchedule(context, {
      schedule: expression,
      scanTemplate: {
        metadata: {
          labels: { team: 'shop' },
          annotations: { note: 'nightly', 'curbcut.dev/scan-id': 'stolen', 'metadata.curbcut.dev/stage': 'live' },
        },
        spec: { url: TARGET, maxPages: 7, podTemplate: NOWHERE },
      },
    });
    const planned = await schedule.reaches('observed', ({ status }) => status?.observedGeneration === 1);
    expect(scheduleCondition(planned, 'Ready')).to.include({ status: 'True', reason: 'Scheduled' });
    const [scan] = await schedule.has(minuteOf(first));
    expect(scan!.spec).to.include({ url: TARGET, maxPages: 7 });
    expect(scan!.metadata.labels).to.include({ team: 'shop', [SCHEDULE_LABEL]: schedule.name });
    expect(scan!.metadata.annotations).to.include({ note: 'nightly', [SCHEDULED_AT_ANNOTATION]: first.toISOString().replace('.000', '') });
    expect(scan!.metadata.annotations).to.not.have.property('curbcut.dev/scan-id');
    expect(scan!.metadata.annotations).to.include({ 'metadata.curbcut.dev/stage': 'live' });
    expect(scan!.metadata.ownerReferences).to.deep.equal([
      {
        apiVersion: 'curbcut.dev/v1',
        kind: 'ScanSchedule',
        name: schedule.name,
        uid: schedule.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    const { status } = await schedule.reaches('running', (read) => read.status?.activeCount === 1);
    expect(status?.active).to.deep.equal([{ name: scan!.metadata.name, uid: scan!.metadata.uid }]);
    expect(new Date(status!.lastScheduleTime!)).to.deep.equal(first);
    expect(new Date(status!.nextScheduleTime!)).to.deep.equal(second);
    await schedule.recorded('SuccessfulCreate', new RegExp(scan!.metadata.name));
    // The scan controller takes it up at once.
    await (await schedule.scan(minuteOf(first))).pod();
  });

  it('cancels the scan that still runs under Replace', async () => {
    const { schedule: expression, first, second } = twoMinutes();
    const schedule = await applySchedule(context, { schedule: expression, concurrencyPolicy: 'Replace' });
    await restartAt(new Date(first.getTime() + 1_000));
    const replaced = await schedule.scan(minuteOf(first));
    await restartAt(new Date(second.getTime() + 1_000));
    await schedule.scan(minuteOf(second));
    const { status, spec } = await replaced.settles();
    expect(spec.cancel).to.equal(true);
    expect(status?.phase).to.equal('canceled');
    await schedule.recorded('Replaced', new RegExp(replaced.name));
  });

  it('is stored in MongoDB when it is created, changed and suspended, and removed when it is deleted', async () => {
    context.start({ schedulesEveryMs: 200 });
    const schedule = await applySchedule(context, { timeZone: 'Europe/Berlin' });
    const { namespace, name } = schedule;
    const row = () => context.stores.schedules.find(ORGANISATION, { namespace, name });
    const stored = await until('it is stored', async () => ((await row())?.nextAt ? row() : null));
    expect(stored).to.include({ url: TARGET, schedule: NOT_DUE, timeZone: 'Europe/Berlin', suspended: false });
    await schedule.patch({ spec: { suspend: true, schedule: '0 0 30 2 *' } });
    await until('its suspension is stored', async () => (await row())?.suspended);
    await schedule.patch({ spec: { suspend: false } });
    const stalled = await until('it is stored as stalled', async () => (await row())?.stalled);
    expect(stalled).to.include({ reason: 'InvalidSchedule' });
    await schedule.remove();
    await until('nothing is stored', async () => (await row()) === null);
  });
});
