import { expect } from 'chai';
import { identityOf } from '../../operator/scan/policy/pods.ts';
import type { Report } from '../../report/schema/report.ts';
import { incomingKeys } from '../../stores/reports.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { useContext, reasonOf, until, type Scan } from './context.ts';
import type { Pod } from '../../operator/scan/kube-types.ts';

describe('operator: a pod that reports false results', function () {
  this.timeout(240_000);
  const context = useContext();
  before(async () => {
    await context.grant(1000);
    context.start();
  });

  async function begin(): Promise<{ scan: Scan; pod: Pod; report: Report }> {
    const scan = await context.submit({ thresholds: { maxViolations: 2 } });
    const pod = await scan.pod();
    return { scan, pod, report: reportOf(await scan.input()) };
  }

  async function expectRefused(scan: Scan, why: RegExp): Promise<void> {
    const spent = await context.spent();
    const refused = await scan.settles();
    expect(refused.status?.phase).to.equal('failed');
    expect(reasonOf(refused, 'Succeeded')).to.equal('ResultsRefused');
    expect(refused.status?.message).to.match(why);
    expect(refused.status?.passed).to.equal(false);
    expect(await scan.row()).to.deep.include({ phase: 'failed', outcome: null, reports: null });
    expect(await context.spent()).to.equal(spent);
  }

  it('is refused for a more favourable verdict', async () => {
    const { scan, pod, report } = await begin();
    report.scan.verdict = { passed: true, message: null };
    await scan.publish(await scan.upload(pod, bytesOf(report)));
    await expectRefused(scan, /verdict does not follow/);
  });

  it('cannot change its report after the scan is done', async () => {
    const { scan, pod, report } = await begin();
    const bytes = bytesOf(report);
    await scan.publish(await scan.upload(pod, bytes));
    await scan.settles();
    const { uploads } = await scan.input();
    await until('the uploads are removed', async () => (await context.reports.size(incomingKeys(scan.id, identityOf(pod)).pdf)) === null);
    for (const slot of uploads) {
      expect(new URL(slot.export).pathname).to.match(/^\/curbcut\/incoming\//);
      const put = await fetch(slot.export, { method: 'PUT', body: '{"score":100}', headers: { 'content-type': 'application/json' } });
      expect(put.status).to.equal(200);
    }
    const read = await context.reports.read((await scan.row())!.reports!.export.key, bytes.byteLength);
    expect(read.ok && Buffer.from(read.bytes).equals(bytes)).to.equal(true);
  });
});
