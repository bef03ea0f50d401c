/** The status of public scans. */
import { expect } from 'chai';
import { viewOf as createView, type ReportView, type ViewIssue } from '../../report/view/view.ts';
import { smallReport } from '../report/samples.ts';
import { useContext } from './context.ts';
import { BEHIND_PROXY, client, PUBLIC_SCANS, rowOf, tokenOf } from './public-context.ts';
import { down } from './replica.ts';

const smallView = createView(smallReport());
const IMPACTS = ['critical', 'serious', 'moderate', 'minor'] as const;

describe('the status of a public scan', () => {
  const context = useContext({ publicScans: PUBLIC_SCANS, ...BEHIND_PROXY });

  const ask = async (body: object = {}) => tokenOf(await client(context).ask(body));
  const issue = (n: number): ViewIssue => ({
    rule: `rule-${n}`,
    impact: IMPACTS[Math.min(3, Math.floor(n / 4))]!,
    help: 'Bilder müssen einen Alternativtext haben',
    help_url: 'https://dequeuniversity.com/rules/axe/4.11/image-alt?lang=de',
    wcag: ['1.1.1'],
    selector: `img:nth-child(${n})`,
    html: '<img onerror="alert(1)">',
  });

  /** Ends a scan as done, as the operator does. @param violations the number of failing elements */
  async function finish(token: string, violations: number, view = true): Promise<void> {
    const { id } = await rowOf(context, token);
    if (view) await context.stores.reports.writeView(id, Buffer.from(JSON.stringify(viewOf(violations))));
    await context.stores.scans.mirror(id, {
      phase: 'done',
      outcome: {
        score: 80,
        violations: { total: violations, critical: violations, serious: 0, moderate: 0, minor: 0 },
        pages: { scanned: 1, failed: 0, total: 1 },
      },
      reports: await context.storeReports(id),
      finishedAt: new Date(),
    });
  }
  const viewOf = (violations: number): ReportView => ({
    ...smallView,
    issues: Array.from({ length: violations }, (_, n) => issue(n)),
    issues_total: violations,
  });

  it('has its phase, and no findings until it is done', async () => {
    const token = await ask();
    const pending = { token, url: 'https://example.com/', violation_count: null, issues: [], truncated: false };
    expect((await client(context).status(token)).body).to.deep.equal({ ...pending, status: 'queued' });
    const { id } = await rowOf(context, token);
    for (const phase of ['crawling', 'scanning', 'failed'] as const) {
      await context.stores.scans.mirror(id, { phase });
      expect((await client(context).status(token, '?full=true')).body).to.deep.equal({ ...pending, status: phase });
    }
  });

  it('has the first 10 issues, worst first, and with `full` all of them', async () => {
    const token = await ask({ locale: 'de' });
    await finish(token, 13);
    const short = (await client(context).status(token)).body;
    expect(short).to.deep.include({ status: 'done', violation_count: 13, truncated: true });
    expect(short.issues).to.deep.equal(Array.from({ length: 10 }, (_, n) => issue(n)));
    const full = (await client(context).status(token, '?full=true')).body;
    expect(full).to.deep.include({ violation_count: 13, truncated: false });
    expect(full.issues).to.have.length(13);
    expect((await client(context).status(token, '?full=false')).body).to.deep.equal(short);
  });

  it('is not truncated with 10 issues or none', async () => {
    for (const violations of [10, 0]) {
      const token = await ask();
      await finish(token, violations);
      const { body } = await client(context).status(token);
      expect([body.issues.length, body.truncated, body.violation_count]).to.deep.equal([violations, false, violations]);
    }
  });

  it('says that issues are missing when the report was removed', async () => {
    const token = await ask();
    await finish(token, 3, false);
    expect((await client(context).status(token)).body).to.deep.include({ violation_count: 3, issues: [], truncated: true });
    await context.stores.scans.reportsRemoved((await rowOf(context, token)).id);
    expect((await client(context).status(token)).body).to.deep.include({ violation_count: 3, issues: [], truncated: true });
  });

  it('does not exist for an unknown token, an expired one, and other scans', async () => {
    const expired = await ask();
    await context.db.collection<{ _id: string }>('public_scans').updateOne({ _id: expired }, { $set: { expiresAt: new Date(0) } });
    const paying = await context.scan((await context.organisation()).id);
    for (const token of [expired, paying.id, 'x', '%24ne', 'a'.repeat(500)]) {
      const { status, body } = await client(context).status(token);
      expect([token, status, body.detail]).to.deep.equal([token, 404, 'scan_not_found']);
    }
  });

  it('is unavailable while a dependency is down', async () => {
    const token = await ask();
    await finish(token, 1);
    for (const call of ['publicScans.findByToken', 'scans.find', 'reports.readView']) {
      context.faults.set(call, down);
      const { status, body } = await client(context).status(token);
      expect([call, status, body.detail]).to.deep.equal([call, 503, 'service_unavailable']);
      context.faults.clear();
    }
  });
});
