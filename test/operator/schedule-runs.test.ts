import { expect } from 'chai';
import type { ScanSchedule } from '../../core/protocol/scan-schedules.ts';
import { RUN_ANNOTATION } from '../../core/protocol/scan-schedules.ts';
import { WEBHOOK_FORMATS } from '../../core/webhooks/webhooks.ts';
import { SCANS } from '../../operator/scan/kube-types.ts';
import { createOperatorMetrics } from '../../operator/metrics.ts';
import type { ReportViolation } from '../../report/schema/page.ts';
import { sampleNode, sampleViolation } from '../report/samples.ts';
import { bytesOf, pagesOf, reportOf, violations } from '../support/scan-results.ts';
import { NOWHERE, ORGANISATION, useContext, TARGET, until, type OperatorContext, type Scan } from './context.ts';
import { logWrites } from './request-log.ts';
import { applySchedule, clockAt, minuteOf, PATIENT, scheduleCondition, twoMinutes, type Schedule } from './schedule-context.ts';

/** Ends a scan with a result, as its pod does. */
async function complete(scan: Scan, found = violations): Promise<void> {
  const pod = await scan.pod();
  await scan.startPod(pod);
  const report = reportOf(await scan.input(), pagesOf(TARGET, 0, found));
  await scan.publish(await scan.upload(pod, bytesOf(report)));
  await scan.settles();
}

/** Adds a webhook of each format. @returns the first body that is queued for each, or null before */
async function regressionWebhooks({ stores: { webhooks, deliveries } }: OperatorContext): Promise<() => Promise<string[] | null>> {
  const ids: string[] = [];
  for (const format of WEBHOOK_FORMATS) {
    const fields = { name: format, url: 'https://hooks.example.com/', events: ['schedule.regressed'], format, creditsBelow: 1 } as const;
    const added = await webhooks.add({ ...fields, organisation: ORGANISATION, createdBy: 'ada@example.com' });
    if (!added.ok) throw new Error(added.reason);
    ids.push(added.webhook.id);
  }
  return async () => {
    const queued = await Promise.all(ids.map((id) => deliveries.list(ORGANISATION, id, { limit: 10 })));
    return queued.every((list) => list.length > 0) ? queued.map((list) => list.at(-1)!.body) : null;
  };
}

const namesOf = async (schedule: Schedule): Promise<string[]> => (await schedule.scans()).map(({ metadata }) => metadata.name);

describe('operator: runs of schedules', function () {
  this.timeout(240_000);
  const context = useContext();
  before(() => context.grant(10_000));
  afterEach(() => context.rest());

  describe('on demand', () => {
    it('starts one scan per token, also while the schedule is suspended', async () => {
      context.start();
      const schedule = await applySchedule(context, { suspend: true });
      const first = await schedule.requested(await schedule.run('release-1'));
      expect(first.name).to.match(new RegExp(`^${schedule.name}-run-[0-9a-f]{8}$`));
      await schedule.reaches('acknowledged', ({ status }) => status?.lastRunRequest === 'release-1');
      await first.remove();
      await until('the scan is gone', async () => (await first.read()) === null);
      // The same token is not a new request.
      await schedule.patch({ metadata: { labels: { touched: 'yes' } }, spec: { jitterSeconds: 1 } });
      await schedule.reaches('observed again', ({ status, metadata }) => status?.observedGeneration === metadata.generation);
      expect(await schedule.scans()).to.deep.equal([]);
      const second = await schedule.requested(await schedule.run('release-2'));
      expect((await second.read())!.metadata.annotations).to.include({ [RUN_ANNOTATION]: 'release-2' });
    });

    it('starts a scan with the metadata of the template and of the schedule', async () => {
      context.start();
      const schedule = await applySchedule(context, {
        scanTemplate: {
          metadata: { annotations: { 'metadata.curbcut.dev/stage': 'live', 'metadata.curbcut.dev/commit': 'unknown' } },
          spec: { url: TARGET, podTemplate: NOWHERE },
        },
      });
      const annotations = { [RUN_ANNOTATION]: 'release-1', 'metadata.curbcut.dev/commit': '4f371ac9' };
      await schedule.patch({ metadata: { annotations } });
      const scan = await schedule.requested('release-1');
      expect((await scan.read())!.metadata.annotations).to.include({ ...annotations, 'metadata.curbcut.dev/stage': 'live' });
      const row = await until('the scan is vetted', () => scan.row());
      expect(row.metadata).to.deep.equal({ stage: 'live', commit: '4f371ac9' });
    });

    it('starts a scan for a token that is too long for the status', async () => {
      context.start();
      const schedule = await applySchedule(context);
      await schedule.run('x'.repeat(5_000));
      await schedule.reaches('acknowledged', ({ status }) => status?.lastRunRequest?.startsWith('sha256:'));
      expect(await namesOf(schedule)).to.have.length(1);
    });

    it('waits under Forbid until the running scan has ended', async () => {
      context.start();
      const schedule = await applySchedule(context, { concurrencyPolicy: 'Forbid' });
      const first = await schedule.requested(await schedule.run('one'));
      await schedule.reaches('running', ({ status }) => status?.lastRunRequest === 'one' && status.activeCount === 1);
      await schedule.run('two');
      const waiting = await schedule.reaches('waiting', (read) => scheduleCondition(read, 'Reconciling')?.reason === 'RunRequested');
      expect(waiting.status?.lastRunRequest).to.equal('one');
      await first.patch({ spec: { cancel: true } });
      await schedule.requested('two');
      const { status } = await schedule.reaches('acknowledged', (read) => read.status?.lastRunRequest === 'two');
      expect(status?.conditions?.find(({ type }) => type === 'Reconciling')?.status).to.equal('False');
    });
  });

  it('keeps as many ended scans as the limits say, the youngest ones', async () => {
    context.start();
    const schedule = await applySchedule(context, { successfulScansHistoryLimit: 1, failedScansHistoryLimit: 1 });
    const ended: string[] = [];
    for (const [index, end] of (['done', 'canceled', 'done', 'canceled'] as const).entries()) {
      const scan = await schedule.requested(await schedule.run(`run-${index}`));
      await schedule.reaches('acknowledged', ({ status }) => status?.lastRunRequest === `run-${index}`);
      // Ends are whole seconds; scans of the same second are ordered by name.
      await new Promise((resolve) => setTimeout(resolve, 1_001));
      if (end === 'done') await complete(scan);
      else await scan.patch({ spec: { cancel: true } });
      await scan.reaches('ended', ({ status }) => status?.completionTime !== undefined);
      ended.push(scan.name);
    }
    const wanted = ended.slice(2).toSorted();
    await until('only the last two are left', async () => JSON.stringify(await namesOf(schedule)) === JSON.stringify(wanted));
    // The status may be written after the scans were removed.
    const { status } = await schedule.reaches(
      'idle',
      (read) => read.status?.activeCount === 0 && read.status.lastCompleted?.name === ended[2],
    );
    expect(status?.lastSuccessfulTime).to.equal(status?.lastCompleted?.completionTime);
    // Without thresholds no scan passes.
    expect(status).to.not.have.property('lastPassedTime');
    await schedule.patch({ spec: { successfulScansHistoryLimit: 0, failedScansHistoryLimit: 0 } });
    await schedule.has();
  });

  it('compares each completed scan with the one before it and reports regressions and recoveries', async () => {
    // The first comparison fails as in an outage.
    let unavailable = 1;
    const reports: OperatorContext['reports'] = {
      ...context.reports,
      size: (key) => ((unavailable -= 1) >= 0 ? Promise.reject(new Error('connection refused')) : context.reports.size(key)),
    };
    const announced = await regressionWebhooks(context);
    context.start({}, { reports });
    const schedule = await applySchedule(context, {
      successfulScansHistoryLimit: 10,
      scanTemplate: { spec: { url: TARGET, thresholds: { maxViolations: 4 }, podTemplate: NOWHERE } },
    });
    const scans: Scan[] = [];
    const runTo = async (reason: string, found: ReportViolation[]): Promise<ScanSchedule> => {
      const scan = await schedule.requested(await schedule.run());
      await complete(scan, found);
      scans.push(scan);
      return schedule.reaches(
        `compared with reason ${reason}`,
        (read) => read.status?.lastCompleted?.name === scan.name && scheduleCondition(read, 'Regressed')?.reason === reason,
      );
    };
    const added = sampleViolation('label', 'critical', 'Form elements must have labels', [sampleNode('<input id="q">', '#q')]);

    const first = await runTo('FirstScan', violations);
    expect(scheduleCondition(first, 'Regressed')?.status).to.equal('False');
    expect(first.status).to.not.have.property('comparison');
    expect(first.status?.lastPassedTime).to.equal(first.status?.lastCompleted?.completionTime);

    const second = await runTo('NewViolations', [...violations, added]);
    expect(unavailable).to.be.lessThan(0);
    expect(scheduleCondition(second, 'Regressed')?.status).to.equal('True');
    const difference = { new: 1, onNewPages: 0, newRootCauses: 1, fixed: 0, unchanged: 3, notTested: 0 };
    expect(second.status?.comparison).to.deep.equal({ scan: scans[1]!.name, previous: scans[0]!.name, ...difference });
    await schedule.recorded('Regressed', /1 violation new \(label on http:\/\/site.test:8080\/ at #q\), 0 fixed, 3 unchanged/);
    // Webhooks get the numbers, and never findings.
    for (const body of await until('the event is queued', announced))
      expect(body)
        .to.include('Compared with the scan before it: 1 violation new, 0 fixed, 3 unchanged.')
        .and.not.match(/label|#q/);

    const third = await runTo('NothingNew', violations);
    expect(scheduleCondition(third, 'Regressed')?.status).to.equal('False');
    await schedule.recorded('Recovered', /0 violations new, 1 fixed, 3 unchanged/);

    await schedule.patch({ spec: { scanTemplate: { spec: { thresholds: { maxViolations: 2 } } } } });
    const fourth = await runTo('NoLongerPasses', violations);
    expect(fourth.status?.comparison).to.include({ new: 0, unchanged: 3 });
    expect(fourth.status?.lastCompleted?.passed).to.equal(false);
    expect(fourth.status?.lastPassedTime).to.equal(third.status?.lastCompleted?.completionTime);
    expect(scheduleCondition(fourth, 'Regressed')!.message).to.match(/does not meet its thresholds/);
    await schedule.recorded('Regressed', /does not meet its thresholds/);

    // It stays regressed until a scan passes.
    const fifth = await runTo('NoLongerPasses', violations);
    expect(fifth.status?.comparison).to.include({ scan: scans[4]!.name, new: 0 });
    const sixth = await runTo('NothingNew', violations.slice(0, 1));
    expect(sixth.status?.lastCompleted?.passed).to.equal(true);
  });

  it('does not regress because of a known issue', async () => {
    context.start();
    const schedule = await applySchedule(context, { scanTemplate: { spec: { url: TARGET, podTemplate: NOWHERE } } });
    const about = { rule: 'label', selector: '#q', reason: 'A new form comes in May.', owner: 'shop team', createdBy: 'ada@example.com' };
    const { host: site } = new URL(TARGET);
    const dates = { createdAt: new Date(), expiresAt: new Date(Date.now() + 86_400_000) };
    const { knownIssues } = context.stores;
    const accepted = await knownIssues.add({ organisation: ORGANISATION, site, ...about, ...dates });
    if (!accepted.ok) throw new Error(accepted.reason);
    const runTo = async (found: ReportViolation[]): Promise<ScanSchedule> => {
      const scan = await schedule.requested(await schedule.run());
      await complete(scan, found);
      return schedule.reaches('compared', ({ status }) => status?.lastCompleted?.name === scan.name);
    };
    const label = (...ids: string[]) =>
      sampleViolation(
        'label',
        'critical',
        'Form elements must have labels',
        ids.map((id) => sampleNode(`<input id="${id}">`, `#${id}`)),
      );

    await runTo(violations);
    const known = await runTo([...violations, label('q')]);
    expect(scheduleCondition(known, 'Regressed')).to.deep.include({ status: 'False', reason: 'NothingNew' });
    expect(known.status?.comparison).to.include({ new: 1, newKnown: 1, newRootCauses: 1 });
    expect(scheduleCondition(known, 'Regressed')!.message).to.match(/1 violation new \(.*\), of which 1 known, 0 fixed/);
    const regressed = await runTo([...violations, label('q', 'other')]);
    expect(scheduleCondition(regressed, 'Regressed')).to.deep.include({ status: 'True', reason: 'NewViolations' });
    await knownIssues.remove(ORGANISATION, accepted.issue.id);
  });

  it('does not start a run twice with two operators that do not know of each other', async () => {
    const { schedule: expression, first } = twoMinutes();
    const schedules = await Promise.all(Array.from({ length: 8 }, () => applySchedule(context, { schedule: expression })));
    const creating = new Set<unknown>();
    const start = () => {
      const logged = logWrites(context.connection);
      // Each has a lease of its own, as if the lease were worthless. None creates a scan before both are about to.
      const request = withoutLease(logged.connection.request);
      const together: typeof request = async (method, path, options) => {
        if (method === 'POST' && path.endsWith('/accessibilityscans')) {
          creating.add(logged);
          await until('both operators create scans', () => creating.size === 2);
        }
        return request(method, path, options);
      };
      const connection = { ...logged.connection, request: together };
      context.start(PATIENT, { connection, clock: clockAt(new Date(first.getTime() - 4_000)) });
      return logged.writes;
    };
    const writes = [start(), start()];
    for (const schedule of schedules) {
      await schedule.has(minuteOf(first));
      await schedule.reaches('recorded', ({ status }) => status?.lastScheduleTime !== undefined && status.activeCount === 1);
    }
    const created = writes.map(
      (all) =>
        all.filter(
          ({ request, body }) => request === 'POST accessibilityscans' && schedules.some(({ name }) => JSON.stringify(body).includes(name)),
        ).length,
    );
    expect(created[0]! + created[1]!, 'both operators act').to.be.greaterThan(schedules.length);
    for (const schedule of schedules) expect(await namesOf(schedule)).to.have.length(1);
  });

  it('records a scan that an operator created before it crashed', async () => {
    const { schedule: expression, first } = twoMinutes();
    const schedule = await applySchedule(context, { schedule: expression, concurrencyPolicy: 'Replace' });
    // Its status writes are lost.
    const crashing = context.start(PATIENT, {
      clock: clockAt(new Date(first.getTime() + 1_000)),
      connection: {
        ...context.connection,
        async request(method, path, options) {
          const { status = {} } = (options?.body ?? {}) as { status?: object };
          const writesStatus = method === 'PATCH' && path.endsWith(`${schedule.name}/status`) && Object.keys(status).length > 0;
          if (writesStatus) throw new Error('the connection broke');
          return context.connection.request(method, path, options);
        },
      },
    });
    const [scan] = await schedule.has(minuteOf(first));
    await crashing.stop();
    expect((await schedule.read())?.status).to.deep.equal({ observedGeneration: -1 });
    context.start(PATIENT, { clock: clockAt(new Date(first.getTime() + 2_000)) });
    const { status } = await schedule.reaches('recorded', (read) => read.status?.lastScheduleTime !== undefined);
    expect(status?.active).to.deep.equal([{ name: scan!.metadata.name, uid: scan!.metadata.uid }]);
    expect((await schedule.scans())[0]!.spec).to.not.have.property('cancel');
  });

  it('reports a foreign scan that has the name of its own, and goes on with the next time', async () => {
    const { schedule: expression, first, second } = twoMinutes();
    const schedule = await applySchedule(context, { schedule: expression });
    const name = `${schedule.name}-${minuteOf(first)}`;
    await context.connection.request('POST', context.connection.path(SCANS, context.team), {
      body: {
        apiVersion: 'curbcut.dev/v1',
        kind: 'AccessibilityScan',
        metadata: { name, namespace: context.team },
        spec: { url: TARGET, podTemplate: NOWHERE },
      },
    });
    context.start(PATIENT, { clock: clockAt(new Date(first.getTime() + 1_000)) });
    const taken = await schedule.reaches('held up', (read) => scheduleCondition(read, 'Ready')?.reason === 'NameTaken');
    expect(scheduleCondition(taken, 'Stalled')?.status).to.equal('True');
    await schedule.recorded('NameTaken', new RegExp(name));
    expect(taken.status).to.not.have.property('lastScheduleTime');
    await context.rest();
    context.start(PATIENT, { clock: clockAt(new Date(second.getTime() + 1_000)) });
    await schedule.has(minuteOf(second));
    await schedule.reaches('ready', (read) => scheduleCondition(read, 'Ready')?.status === 'True');
  });

  it('reports why the API server does not create its scans', async () => {
    const metrics = createOperatorMetrics();
    context.start({}, { metrics });
    const template = { metadata: { labels: { team: 'not a label value!' } }, spec: { url: TARGET, podTemplate: NOWHERE } };
    const schedule = await applySchedule(context, { scanTemplate: template });
    await schedule.run('now');
    const refused = await schedule.reaches('refused', (read) => scheduleCondition(read, 'Ready')?.reason === 'CreateRefused');
    expect(scheduleCondition(refused, 'Ready')!.message).to.match(/not a label value!/);
    await schedule.recorded('CreateRefused', /not a label value!/);
    expect(await metrics.registry.metrics()).to.match(/curbcut_schedule_runs_refused_total\{reason="CreateRefused"\} 1/);
  });

  it('takes its scans along when it is deleted, and each one settles', async () => {
    context.start();
    const schedule = await applySchedule(context);
    const scan = await schedule.requested(await schedule.run());
    await scan.pod();
    const held = await context.held();
    expect(held).to.be.greaterThan(0);
    await schedule.remove();
    await until('the scan is gone', async () => (await scan.read()) === null, 60_000);
    expect((await scan.row())?.phase).to.equal('canceled');
    expect(await context.held()).to.equal(held - 5);
    expect(await schedule.read()).to.equal(null);
  });

  it('writes nothing to a schedule while nothing changes', async () => {
    const { connection, writes } = logWrites(context.connection);
    context.start({}, { connection });
    const schedule = await applySchedule(context);
    const scan = await schedule.requested(await schedule.run());
    const pod = await scan.pod();
    await schedule.reaches('running', ({ status }) => status?.activeCount === 1);
    const own = () => writes.filter(({ path }) => path.endsWith(`/scanschedules/${schedule.name}/status`)).length;
    const before = own();
    expect(before).to.be.at.most(2);
    await scan.startPod(pod);
    await scan.reaches('crawling', ({ status }) => status?.phase === 'crawling');
    expect(own()).to.equal(before);
  });
});

/** Leases always seem free, so that two operators lead at once. */
function withoutLease(request: OperatorContext['connection']['request']): OperatorContext['connection']['request'] {
  const suffix = Math.random().toString(36).slice(2, 8);
  return ((method, path, options) => {
    const body = options?.body as { metadata?: { name?: string } } | undefined;
    if (!path.includes('/leases')) return request(method, path, options);
    const renamed =
      body?.metadata?.name === undefined ? body : { ...body, metadata: { ...body.metadata, name: `${body.metadata.name}-${suffix}` } };
    return request(method, path.replace(/(leases\/[^/?]+)/, `$1-${suffix}`), { ...options, ...(renamed && { body: renamed }) });
  }) as OperatorContext['connection']['request'];
}
