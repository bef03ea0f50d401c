/** The command line against the real service: the coverage of a scan, its cancellation, the list of scans. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { Report } from '../../report/schema/report.ts';
import { eventually, startWholeProduct, type WholeProduct } from './product.ts';

interface Result {
  scan_id: string;
  status: string;
  passed: boolean | null;
  message: string | null;
}

/** A scan as a poll returns it. */
interface Row extends Result {
  pages_tested: number;
  pages_charged: number | null;
  report_url: string | null;
}

describe('the command line and the whole product', function () {
  this.timeout(180_000);
  let product: WholeProduct;
  before(async () => {
    product = await startWholeProduct();
  });
  after(async () => {
    await product?.close();
  });

  it('does not pass below the minimum coverage, and states the coverage', async () => {
    const exported = join(product.dir, 'coverage.json');
    // The page of the events links to a page that does not exist.
    const scan = ['scan', `${product.demoUrl}/en/events/`, '--include', '/en/events/**', '--max-pages', '30', '--min-coverage', '100'];
    const { code, stdout, stderr } = await product.curbcut(...scan, '--export', exported, '--json');
    expect(code, stderr).to.equal(1);
    const result = JSON.parse(stdout) as Result;
    const { score, scan: described } = JSON.parse(await readFile(exported, 'utf8')) as Report;
    expect(score.pages_attempted).to.be.greaterThan(score.pages_tested);
    expect(result).to.deep.include({ status: 'done', passed: false });
    expect(result.message).to.match(new RegExp(`^The coverage is [0-9.]+%, below the minimum of 100%: ${score.pages_tested} of ${score.pages_attempted} pages`)); // prettier-ignore
    expect(described.thresholds).to.deep.equal({
      min_score: null,
      max_violations: null,
      max_new_violations: null,
      fail_on_severity: null,
      min_coverage: 100,
    });
    expect(described.verdict).to.deep.equal({ passed: result.passed, message: result.message });
  });

  it('cancels a scan, and then explains that it has ended', async () => {
    const answer = await product.request('/v1/ci/scans', {
      method: 'POST',
      body: JSON.stringify({ url: product.demoUrl, max_pages: 60, min_score: 1 }),
    });
    const { scan_id: id } = (await answer.json()) as Result;
    const canceled = await eventually(
      () => product.curbcut('cancel', id, '--json'),
      ({ code }) => code === 0,
    );
    expect((JSON.parse(canceled.stdout) as Result).scan_id).to.equal(id);
    const followed = await product.curbcut('follow', id, '--json');
    expect(followed.code, followed.stderr).to.equal(1); // thresholds were set
    expect((JSON.parse(followed.stdout) as Result).status).to.equal('canceled');
    const again = await product.curbcut('cancel', id);
    expect(again).to.include({ code: 0, stdout: 'The scan is canceled.\n' });
  });

  it('gets the partial report of a canceled scan, which costs the pages that it has', async () => {
    await product.changeKey();
    const before = await product.request('/v1/billing/credits');
    const { balance } = (await before.json()) as { balance: number };
    const answer = await product.request('/v1/ci/scans', {
      method: 'POST',
      body: JSON.stringify({ url: product.demoUrl, max_pages: 60, min_score: 1, settle_ms: 300 }),
    });
    const { scan_id: id } = (await answer.json()) as Result;
    const state = async (): Promise<Row> => (await (await product.request(`/v1/ci/scans/${id}`)).json()) as Row;
    // Slowly, within the rate limit of the key.
    await eventually(
      () => sleep(1000).then(state),
      ({ pages_tested: tested }) => tested >= 3,
    );
    await product.changeKey();
    const canceled = await product.curbcut('cancel', id);
    expect(canceled.stdout).to.include(`curbcut report ${id}`);
    const followed = await product.curbcut('follow', id);
    expect(followed.code, 'thresholds were set').to.equal(1);
    expect(followed.stdout)
      .to.match(/Score +[0-9.]+ of 100/)
      .and.to.include('the scan was canceled, and the report is partial');

    const row = await state();
    expect(row).to.include({ status: 'canceled', passed: false, report_url: `/v1/scans/${id}/report` });
    expect(row.message).to.match(/^The scan was canceled\. The \d+ pages tested until then were charged\. The report is partial/);
    const [exported, pdf, sarif] = ['partial.json', 'partial.pdf', 'partial.sarif'].map((name) => join(product.dir, name));
    const saved = await product.curbcut('report', id, '--export', exported!, '--pdf', pdf!, '--sarif', sarif!);
    expect(saved.code, saved.stderr).to.equal(0);
    const report = JSON.parse(await readFile(exported!, 'utf8')) as Report;
    expect(report.partial).to.equal(true);
    expect(report.scan.verdict.passed).to.equal(false);
    expect([row.pages_tested, row.pages_charged]).to.deep.equal([report.score.pages_tested, report.score.pages_tested]);
    expect((await readFile(pdf!)).subarray(0, 5).toString()).to.equal('%PDF-');
    expect(await readFile(sarif!, 'utf8')).to.include('partial_report');
    const after = (await (await product.request('/v1/billing/credits')).json()) as { balance: number };
    expect(balance - after.balance).to.equal(report.score.pages_tested);
    expect((await product.curbcut('cancel', id)).stdout).to.equal(
      `The scan is canceled.\nTo get the report of the pages that were tested until then: curbcut report ${id}\n`,
    );

    // It is no base: neither by its ID, nor as the newest scan of the site.
    const named = await product.curbcut('scan', product.demoUrl, '--max-pages', '1', '--baseline', id);
    expect(named.code, named.stdout).to.equal(2);
  });

  it('does not cancel a scan that is done or does not exist', async () => {
    const done = await product.curbcut('scan', product.demoUrl, '--max-pages', '1', '--json');
    const { scan_id: id } = JSON.parse(done.stdout) as Result;
    expect(await product.curbcut('cancel', id)).to.include({
      code: 1,
      stdout: 'The scan has already ended (done); nothing was canceled.\n',
    });
    const unknown = await product.curbcut('cancel', '00000000-0000-4000-8000-000000000000');
    expect(unknown.code).to.equal(2);
    expect(unknown.stderr).to.include('does not exist');
  });

  it('lists the scans of the organisation, newest first, in pages and by phase', async () => {
    const listed = async (...args: string[]): Promise<{ data: Result[]; next_cursor: string | null }> => {
      const { code, stdout, stderr } = await product.curbcut('list', '--json', ...args);
      expect(code, stderr).to.equal(0);
      return JSON.parse(stdout) as { data: Result[]; next_cursor: string | null };
    };
    const all = await listed();
    expect(all.data.map(({ status }) => status)).to.deep.equal(['done', 'canceled', 'canceled', 'done']);
    expect(all.next_cursor).to.equal(null);
    expect(await listed('--status', 'canceled')).to.deep.equal({ data: [all.data[1], all.data[2]], next_cursor: null });
    const newest = await listed('--limit', '1');
    expect(newest.data).to.deep.equal([all.data[0]]);
    expect(newest.next_cursor).to.be.a('string');
    const table = await product.curbcut('list', '--limit', '2');
    expect(table.stdout).to.match(
      new RegExp(
        `^ID .*\\n${all.data[0]!.scan_id} +20\\S+ \\S+ +done .* ${product.demoUrl}/\\n${all.data[1]!.scan_id} +20\\S+ \\S+ +canceled .*\\nThere are more`,
      ),
    );
    const unknown = await product.curbcut('list', '--status', 'dome');
    expect(unknown.code).to.equal(2);
    expect(unknown.stderr).to.include('status');
  });
});
