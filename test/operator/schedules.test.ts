import { expect } from 'chai';
import { SCHEDULED_AT_ANNOTATION, SCHEDULE_LABEL } from '../../core/protocol/scan-schedules.ts';
import { jitterOf } from '../../operator/schedule/policy/starts.ts';
import { NOWHERE, useContext, TARGET, until } from './context.ts';
import {
  applySchedule,
  clockAhead,
  clockAt,
  minuteOf,
  MINUTE_MS,
  NOT_DUE,
  PATIENT,
  scheduleCondition,
  twoMinutes,
  type Schedule,
} from './schedule-context.ts';

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

  it('catches up with one scan after downtime and counts the missed ones in an Event', async () => {
    context.start(PATIENT);
    const schedule = await applySchedule(context, { schedule: '* * * * *', suspend: true });
    const { metadata } = await schedule.reaches('suspended', (read) => scheduleCondition(read, 'Ready')?.reason === 'Suspended');
    expect(await schedule.scans()).to.deep.equal([]);
    await context.rest();
    await schedule.patch({ spec: { suspend: false } });
    const created = Date.parse(metadata.creationTimestamp!);
    const now = new Date((Math.floor(created / MINUTE_MS) + 20) * MINUTE_MS + 5_000);
    await restartAt(now);
    const latest = Math.floor(created / MINUTE_MS) + 20;
    await schedule.has(latest);
    const missed = 19;
    await schedule.recorded('MissSchedule', new RegExp(`^${missed} scheduled times were missed`));
    const { status } = await schedule.reaches('recorded', (read) => read.status?.lastMissedTime !== undefined);
    expect(Date.parse(status!.lastMissedTime!)).to.equal((latest - 1) * MINUTE_MS);
  });

  it('does not start a scan that is later than startingDeadlineSeconds, and says so once', async () => {
    const { schedule: expression, second } = twoMinutes();
    const schedule = await applySchedule(context, { schedule: expression, startingDeadlineSeconds: 30 });
    await restartAt(new Date(second.getTime() + 45_000));
    await schedule.recorded('MissSchedule', /^2 scheduled times were missed.*startingDeadlineSeconds of 30 s/);
    await restartAt(new Date(second.getTime() + 50_000));
    await schedule.patch({ spec: { jitterSeconds: 1 } });
    await schedule.reaches('observed again', ({ status, metadata }) => status?.observedGeneration === metadata.generation);
    expect(await schedule.scans()).to.deep.equal([]);
    expect((await schedule.events()).filter(({ reason }) => reason === 'MissSchedule').map(({ count }) => count)).to.deep.equal([1]);
  });

  it('skips a time while a scan runs under Forbid, and starts the latest one when it has ended', async () => {
    const { schedule: expression, first, second } = twoMinutes();
    const schedule = await applySchedule(context, { schedule: expression, concurrencyPolicy: 'Forbid' });
    await restartAt(new Date(first.getTime() + 1_000));
    const running = await schedule.scan(minuteOf(first));
    await schedule.reaches('recorded', ({ status }) => status?.lastScheduleTime !== undefined);
    await restartAt(new Date(second.getTime() + 1_000));
    await schedule.recorded('ScanAlreadyActive', new RegExp(`${running.name} still runs`));
    await schedule.has(minuteOf(first));
    await running.patch({ spec: { cancel: true } });
    await schedule.scan(minuteOf(second));
    const { status } = await schedule.reaches('caught up', (read) => Date.parse(read.status!.lastScheduleTime!) === second.getTime());
    expect(status?.active?.map(({ name }) => name)).to.deep.equal([`${schedule.name}-${minuteOf(second)}`]);
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

  it('runs scans side by side under Allow', async () => {
    const { schedule: expression, first, second } = twoMinutes();
    const schedule = await applySchedule(context, { schedule: expression });
    await restartAt(new Date(first.getTime() + 1_000));
    await schedule.has(minuteOf(first));
    await restartAt(new Date(second.getTime() + 1_000));
    await schedule.has(minuteOf(first), minuteOf(second));
    await schedule.reaches('running two scans', ({ status }) => status?.activeCount === 2);
  });

  it('delays a scan by its jitter, and names it after the time without jitter', async () => {
    const { schedule: expression, first } = twoMinutes();
    const schedule = await applySchedule(context, { schedule: expression, jitterSeconds: 3600, concurrencyPolicy: 'Forbid' });
    const jitterMs = jitterOf(context.team, schedule.name, 3600);
    await restartAt(new Date(first.getTime() + jitterMs - 30_000));
    await schedule.reaches('observed', ({ status }) => status?.nextScheduleTime !== undefined);
    expect(await schedule.scans()).to.deep.equal([]);
    await restartAt(new Date(first.getTime() + jitterMs + 100));
    await schedule.has(minuteOf(first));
  });

  it('does not start scans for times that have passed when its schedule is changed', async () => {
    context.start(PATIENT, { clock: clockAhead(30 * MINUTE_MS) });
    const schedule = await applySchedule(context);
    await schedule.reaches('observed', ({ status }) => status?.observedSchedule !== undefined);
    const passed = new Date(Date.now() + 20 * MINUTE_MS);
    const changed = `${passed.getUTCMinutes()} ${passed.getUTCHours()} * * *`;
    await schedule.patch({ spec: { schedule: changed } });
    const { status } = await schedule.reaches('changed', (read) => read.status?.observedSchedule?.schedule === changed);
    expect(Date.parse(status!.nextScheduleTime!)).to.be.greaterThan(Date.now() + 23 * 3_600_000);
    expect(await schedule.scans()).to.deep.equal([]);
  });

  it('reports what the API server could not refuse, and goes on when it is corrected', async () => {
    context.start(PATIENT);
    await (await applySchedule(context)).reaches('observed', ({ status }) => status?.observedGeneration === 1);
    const reported = (schedule: Schedule, reason: string) =>
      schedule.reaches(reason, (seen) => scheduleCondition(seen, 'Ready')?.reason === reason);
    const schedule = await applySchedule(context, { schedule: '0 0 30 2 *' });
    const invalid = await reported(schedule, 'InvalidSchedule');
    for (const [type, status] of [
      ['Ready', 'False'],
      ['Stalled', 'True'],
    ] as const)
      expect(scheduleCondition(invalid, type)).to.include({ status, reason: 'InvalidSchedule' });
    expect(scheduleCondition(invalid, 'Ready')!.message).to.match(/never fires/);
    expect(invalid.status).to.not.have.property('nextScheduleTime');
    await schedule.recorded('InvalidSchedule', /never fires/);
    // The API server's time zone database has this name, that of Node.js does not.
    await schedule.patch({ spec: { schedule: NOT_DUE, timeZone: 'Factory' } });
    const unknown = await reported(schedule, 'InvalidTimeZone');
    expect(scheduleCondition(unknown, 'Ready')!.message).to.match(/Factory/);
    await schedule.patch({ spec: { timeZone: 'Europe/Berlin' } });
    const ready = await schedule.reaches('ready', (read) => scheduleCondition(read, 'Ready')?.status === 'True');
    expect(scheduleCondition(ready, 'Stalled')?.status).to.equal('False');
    expect(ready.status?.nextScheduleTime).to.match(/-02-28T23:00:00Z$/);
    await until('all conditions describe the spec', async () =>
      ['Ready', 'Stalled', 'Reconciling'].every((type) => scheduleCondition(ready, type)?.observedGeneration === ready.metadata.generation),
    );
  });

  it('is held while its organisation is blocked or missing, and continues by itself', async () => {
    const { schedule: expression, first } = twoMinutes();
    const { organisations } = context.stores;
    await organisations.setBlocked('acme', true);
    const [held, foreign] = await Promise.all([
      applySchedule(context, { schedule: expression }),
      applySchedule(context, { schedule: expression }, { namespace: context.strangers }),
    ]);
    context.start(PATIENT, { clock: clockAt(new Date(first.getTime() + 1_000)) });
    try {
      const blocked = await held.reaches('held', (read) => scheduleCondition(read, 'Ready')?.reason === 'OrganisationBlocked');
      expect(scheduleCondition(blocked, 'Stalled')?.status).to.equal('True');
      await held.run('now');
      const missing = await foreign.reaches(
        'without an organisation',
        (read) => scheduleCondition(read, 'Ready')?.reason === 'NoOrganisation',
      );
      expect(scheduleCondition(missing, 'Stalled')?.status).to.equal('False');
      expect(scheduleCondition(missing, 'Reconciling')?.status).to.equal('True');
      await held.recorded('OrganisationBlocked');
      expect([...(await held.scans()), ...(await foreign.scans())]).to.deep.equal([]);
    } finally {
      await organisations.setBlocked('acme', false);
    }
    await held.scan(minuteOf(first));
    await held.requested('now');
    expect(await foreign.scans()).to.deep.equal([]);
  });
});
