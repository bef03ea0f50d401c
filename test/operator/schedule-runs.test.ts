import { expect } from 'chai';
import type { ScanSchedule } from '../../core/protocol/scan-schedules.ts';
import { WEBHOOK_FORMATS } from '../../core/webhooks/webhooks.ts';
import { SCANS } from '../../operator/scan/kube-types.ts';
import { createOperatorMetrics } from '../../operator/metrics.ts';
import type { ReportViolation } from '../../report/schema/page.ts';
import { sampleNode, sampleViolation } from '../report/samples.ts';
import { bytesOf, pagesOf, reportOf, violations } from '../support/scan-results.ts';
import { NOWHERE, ORGANISATION, useContext, TARGET, until, type OperatorContext, type Scan } from './context.ts';
import { applySchedule, clockAt, minuteOf, PATIENT, scheduleCondition, twoMinutes } from './schedule-context.ts';

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

describe('operator: runs of schedules', function () {
  this.timeout(240_000);
  const context = useContext();
  before(() => context.grant(10_000));
  afterEach(() => context.rest());

  it('compares each completed scan with the one before it, and reports a regression', async () => {
    const announced = await regressionWebhooks(context);
    context.start();
    const schedule = await applySchedule(context, {
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
    expect(scheduleCondition(second, 'Regressed')?.status).to.equal('True');
    const difference = { new: 1, onNewPages: 0, newRootCauses: 1, fixed: 0, unchanged: 3, notTested: 0 };
    expect(second.status?.comparison).to.deep.equal({ scan: scans[1]!.name, previous: scans[0]!.name, ...difference });
    await schedule.recorded('Regressed', /1 violation new \(label on http:\/\/site.test:8080\/ at #q\), 0 fixed, 3 unchanged/);
    // Webhooks get the numbers, and never findings.
    for (const body of await until('the event is queued', announced))
      expect(body)
        .to.include('1 violation new, 0 fixed, 3 unchanged')
        .and.not.match(/label|#q/);
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
});
