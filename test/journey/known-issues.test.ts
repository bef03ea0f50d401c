/** Known issues from their acceptance over REST to the verdict of scans: once all are accepted a scan passes, after their end it fails. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import type { Report } from '../../report/schema/report.ts';
import { connectMongo } from '../../stores/mongo.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { startWholeProduct, type WholeProduct } from './product.ts';

const PAGE = `<!doctype html><html lang="en"><head><title>Shop</title></head><body><main><h1>Shop</h1>
<img id="logo" class="logo" src="/logo.png" width="40" height="40"><a id="cart" class="cart" href="/cart"></a></main></body></html>`;

interface Result {
  scan_id: string;
  status: string;
  passed: boolean | null;
  message: string | null;
  score: number;
  score_without_known: number;
  violations_count: number;
  violations_new_or_open: number;
  known_issues: { matched: number; unmatched: number; ending: number } | null;
}

describe('a gate for a site with known issues', function () {
  this.timeout(180_000);
  let product: WholeProduct;
  let server: Server;
  let url: string;
  /** The root causes of the page. */
  let groups: Report['groups'];
  before(async () => {
    product = await startWholeProduct();
    server = createServer((request, response) => {
      if (new URL(request.url!, 'http://site').pathname !== '/') return void response.writeHead(404).end();
      response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
    });
    await new Promise<void>((resolve) => server.listen(0, product.host, resolve));
    url = `http://${product.host}:${(server.address() as AddressInfo).port}/`;
  });
  after(async () => {
    server?.closeAllConnections();
    server?.close();
    await product?.close();
  });

  async function scan(): Promise<Result> {
    const gate = { max_pages: 1, min_score: 100, max_violations: 0, fail_on_severity: 'minor' };
    const submitted = await product.request('/v1/ci/scans', { method: 'POST', body: JSON.stringify({ url, ...gate }) });
    const text = await submitted.text();
    expect(submitted.status, text).to.equal(202);
    const { scan_id: id } = JSON.parse(text) as Result;
    expect(await (await product.request(`/v1/ci/scans/${id}/events`)).text()).to.match(/"event":"complete"/);
    const result = (await (await product.request(`/v1/ci/scans/${id}`)).json()) as Result;
    expect(result.status, JSON.stringify(result)).to.equal('done');
    return result;
  }
  async function reportOf({ scan_id: id }: Result): Promise<Report> {
    const { url: link } = (await (await product.request(`/v1/scans/${id}/report/json`)).json()) as { url: string };
    return (await (await fetch(link)).json()) as Report;
  }
  async function accept(target: object, expiresAt: Date): Promise<string> {
    const body = {
      site: new URL(url).host,
      ...target,
      reason: 'The supplier fixes it.',
      owner: 'shop team',
      expires_at: expiresAt.toISOString(),
    };
    const accepted = await product.request('/v1/known-issues', { method: 'POST', body: JSON.stringify(body) });
    const text = await accepted.text();
    expect(accepted.status, text).to.equal(201);
    return (JSON.parse(text) as { id: string }).id;
  }
  /** Lets a known issue end in the past, which REST refuses. */
  async function endNow(id: string): Promise<void> {
    const mongo = connectMongo({ url: product.environment.MONGODB_URL!, logger: silentLogger });
    try {
      const ended = await mongo.db
        .collection<{ _id: string }>('knownIssues')
        .updateOne({ _id: id }, { $set: { expiresAt: new Date(Date.now() - 1000) } });
      expect(ended.modifiedCount).to.equal(1);
    } finally {
      await mongo.close();
    }
  }
  const later = () => new Date(Date.now() + 90 * 86_400_000);

  it('passes once all root causes are accepted, and fails again when one has ended', async () => {
    const first = await scan();
    expect(first).to.deep.include({ passed: false, violations_count: 2, violations_new_or_open: 2, known_issues: null });
    ({ groups } = await reportOf(first));
    const [image, link] = ['image-alt', 'link-name'].map((rule) => groups.find((group) => group.rule === rule)!);
    const ids = [await accept({ fingerprint: image!.fingerprint }, later())];

    const second = await scan();
    expect(second).to.deep.include({ passed: false, violations_count: 2, violations_new_or_open: 1, score: first.score });
    expect(second.known_issues).to.deep.equal({ matched: 1, unmatched: 0, ending: 0 });
    expect(second.message).to.include('There are 1 violations without known issues (2 with them), more than the 0 allowed.');

    const end = new Date(Date.now() + 86_400_000);
    ids.push(await accept({ rule: 'link-name', selector: link!.example.selector }, end));
    const third = await scan();
    expect(third).to.deep.include({ passed: true, message: null, score: first.score, score_without_known: 100, violations_new_or_open: 0 });
    expect(third.known_issues).to.deep.equal({ matched: 2, unmatched: 0, ending: 1 });
    const report = await reportOf(third);
    expect(report.groups.map(({ known }) => known?.map(({ id }) => id))).to.have.deep.members(ids.map((id) => [id]));
    expect(report.scan.verdict.passed).to.equal(true);

    await endNow(ids[1]!);
    const fourth = await scan();
    expect(fourth).to.deep.include({ passed: false, violations_new_or_open: 1 });
    expect(fourth.known_issues).to.deep.equal({ matched: 1, unmatched: 0, ending: 0 });
  });

  it('holds for manifests too, and the status has both numbers', async () => {
    const manifest = {
      apiVersion: 'curbcut.dev/v1',
      kind: 'AccessibilityScan',
      metadata: { name: 'known' },
      spec: { url, maxPages: 1, thresholds: { maxViolations: 1 } },
    };
    await product.kubectl(['apply', '-f', '-'], JSON.stringify(manifest));
    await product.kubectl(['wait', '--for=condition=Complete', 'accessibilityscan/known', '--timeout=120s']);
    const { status } = JSON.parse(await product.kubectl(['get', 'accessibilityscan', 'known', '-o', 'json'])) as AccessibilityScan;
    expect(status).to.deep.include({ phase: 'done', passed: true });
    expect(status!.violations!.total).to.equal(2);
    expect(status!.known).to.deep.include({ matched: 1, unmatched: 0, ending: 0 });
    expect(status!.known!.violations.total).to.equal(1);
  });

  it('passes with a manifest that accepts all, and fails again when one of its known issues has ended', async () => {
    const { data } = (await (await product.request('/v1/known-issues')).json()) as { data: { id: string }[] };
    for (const { id } of data) await product.request(`/v1/known-issues/${id}`, { method: 'DELETE' });
    const issues = groups.map(({ rule, fingerprint }) => ({
      name: rule,
      fingerprint,
      reason: 'The supplier fixes it.',
      owner: 'shop team',
      expiresAt: later().toISOString(),
    }));
    const manifest = (list: object[]) =>
      JSON.stringify({
        apiVersion: 'curbcut.dev/v1',
        kind: 'KnownIssues',
        metadata: { name: 'shop' },
        spec: { site: new URL(url).origin, issues: list },
      });
    await product.kubectl(['apply', '-f', '-'], manifest(issues));
    await product.kubectl(['wait', '--for=condition=Ready', 'knownissues/shop', '--timeout=60s']);
    const accepted = await scan();
    expect(accepted).to.deep.include({ passed: true, violations_count: 2, violations_new_or_open: 0 });
    expect(accepted.known_issues).to.deep.equal({ matched: 2, unmatched: 0, ending: 0 });

    const ended = { ...issues[0]!, expiresAt: new Date(Date.now() - 1000).toISOString() };
    await product.kubectl(['apply', '-f', '-'], manifest([ended, issues[1]!]));
    await product.kubectl(['wait', '--for=condition=Ending', 'knownissues/shop', '--timeout=60s']);
    expect(await scan()).to.deep.include({ passed: false, violations_new_or_open: 1 });
    await product.kubectl(['delete', 'knownissues', 'shop']);
  });
});
