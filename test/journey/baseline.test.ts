/** A team's gate: a site with many violations, its main branch as the baseline, and branches that change it. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import type { Report } from '../../report/schema/schema.ts';
import { startWholeProduct, type WholeProduct } from './product.ts';

/** A build of the site: which pictures have no text, in which order, and the hash in the names of classes and files. */
interface Build {
  pictures: readonly string[];
  hash: string;
  /** Wraps the pictures, so that all selectors change. */
  wrapped?: boolean;
}
const PICTURES = Array.from({ length: 60 }, (_, at) => `teaser-${String.fromCharCode(97 + (at % 26))}${at}`);
const MAIN: Build = { pictures: PICTURES, hash: '1x7yp' };
const BRANCHES = {
  'fix/two': { pictures: [...PICTURES.slice(2), 'planted'], hash: '9k2mq' },
  'feature/layout': { pictures: PICTURES.toReversed(), hash: '4w8zd', wrapped: true },
} satisfies Record<string, Build>;

function page({ pictures, hash, wrapped = false }: Build): string {
  const images = pictures
    .map((name) => `<img class="Card_image__${hash}" src="/static/${name}.${hash}0a1b.png" width="40" height="40">`)
    .join('\n');
  return `<!doctype html><html lang="en"><head><title>Shop</title></head><body><main><h1>Shop</h1>${wrapped ? `<div><section>${images}</section></div>` : images}</main></body></html>`;
}

interface Result {
  scan_id: string;
  status: string;
  passed: boolean | null;
  message: string | null;
  violations_count: number;
  metadata: Record<string, string>;
  baseline: { scan_id: string | null; problem: string | null; new: number; fixed: number; unchanged: number; not_tested: number } | null;
}

describe('a gate for a site with violations', function () {
  this.timeout(180_000);
  let product: WholeProduct;
  let server: Server;
  let url: string;
  let build = MAIN;
  let main: Result;
  before(async () => {
    product = await startWholeProduct();
    server = createServer((request, response) => {
      const { pathname } = new URL(request.url!, 'http://site');
      if (pathname !== '/') return void response.writeHead(404).end();
      response.writeHead(200, { 'content-type': 'text/html' }).end(page(build));
    });
    await new Promise<void>((resolve) => server.listen(0, product.host, resolve));
    url = `http://${product.host}:${(server.address() as AddressInfo).port}/`;
    main = await scan({ metadata: { branch: 'main', commit: 'aaaa' } });
  });
  after(async () => {
    server?.closeAllConnections();
    server?.close();
    await product?.close();
  });

  async function scan(body: object): Promise<Result> {
    const submitted = await product.request('/v1/ci/scans', { method: 'POST', body: JSON.stringify({ url, max_pages: 1, ...body }) });
    const text = await submitted.text();
    expect(submitted.status, text).to.equal(202);
    const { scan_id: id } = JSON.parse(text) as Result;
    expect(await (await product.request(`/v1/ci/scans/${id}/events`)).text()).to.match(/"event":"complete"/);
    const result = (await (await product.request(`/v1/ci/scans/${id}`)).json()) as Result;
    expect(result.status, JSON.stringify(result)).to.equal('done');
    return result;
  }
  const gate = { max_new_violations: 0, baseline: { metadata: { branch: 'main' } } };

  it('finds what the site has on its main branch', () => {
    expect(main).to.deep.include({ violations_count: 60, passed: null, baseline: null, metadata: { branch: 'main', commit: 'aaaa' } });
  });

  it('fails a branch that fixes two violations and adds one, and names the new one', async () => {
    build = BRANCHES['fix/two'];
    const result = await scan({ ...gate, metadata: { branch: 'fix/two' } });
    expect(result).to.deep.include({
      passed: false,
      message: `There is 1 violation not in the baseline ${main.scan_id}, more than the 0 allowed.`,
    });
    expect(result.baseline).to.deep.include({ scan_id: main.scan_id, problem: null, new: 1, fixed: 2, unchanged: 58, not_tested: 0 });
    const { url: link } = (await (await product.request(`/v1/scans/${result.scan_id}/report/json`)).json()) as { url: string };
    const report = (await (await fetch(link)).json()) as Report;
    expect(report.baseline!.new_causes.flatMap(({ examples }) => examples.map(({ selector }) => selector))).to.have.length(1);
    expect(report.groups.reduce((sum, { new_elements: added = 0 }) => sum + added, 0)).to.equal(1);
    expect(report.scan.verdict.passed).to.equal(false);
  });

  it('passes a branch that only moves markup and is built again', async () => {
    build = BRANCHES['feature/layout'];
    const result = await scan({ ...gate, metadata: { branch: 'feature/layout' } });
    expect(result).to.deep.include({ passed: true, message: null, violations_count: 60 });
    expect(result.baseline).to.deep.include({ scan_id: main.scan_id, new: 0, fixed: 0, unchanged: 60 });
  });

  it('does not pass without a scan to compare with, unless the baseline is optional', async () => {
    const baseline = { metadata: { branch: 'release/1.0' } };
    const missed = await scan({ ...gate, baseline });
    expect(missed).to.deep.include({ passed: false });
    expect(missed.message).to.include('no done scan matches the baseline');
    expect(missed.baseline).to.deep.include({ scan_id: null, problem: 'not_found', new: null });
    expect((await scan({ ...gate, baseline: { ...baseline, optional: true } })).passed).to.equal(true);
  });

  it('holds for manifests too', async () => {
    build = BRANCHES['fix/two'];
    const manifest = {
      apiVersion: 'curbcut.dev/v1',
      kind: 'AccessibilityScan',
      metadata: { name: 'gate' },
      spec: { url, maxPages: 1, thresholds: { maxNewViolations: 0 }, baseline: { scan: main.scan_id } },
    };
    await product.kubectl(['apply', '-f', '-'], JSON.stringify(manifest));
    await product.kubectl(['wait', '--for=condition=Complete', 'accessibilityscan/gate', '--timeout=120s']);
    const { status } = JSON.parse(await product.kubectl(['get', 'accessibilityscan', 'gate', '-o', 'json'])) as AccessibilityScan;
    expect(status).to.deep.include({ phase: 'done', passed: false });
    expect(status!.baseline).to.deep.equal({
      scanId: main.scan_id,
      optional: false,
      difference: { new: 1, onNewPages: 0, fixed: 2, unchanged: 58, notTested: 0 },
    });
    const without = { ...manifest, metadata: { name: 'no-baseline' }, spec: { ...manifest.spec, baseline: undefined } };
    const refused = await product.kubectl(['apply', '-f', '-'], JSON.stringify(without)).catch((error: Error) => error.message);
    expect(refused).to.include('thresholds.maxNewViolations needs a baseline to compare with');
  });
});
