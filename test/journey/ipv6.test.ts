/** All processes on IPv6 alone: API, operator, pod, MongoDB, NATS, object store, Kubernetes API and site. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { startWholeProduct, type WholeProduct } from './product.ts';

describe('IPv6', function () {
  this.timeout(180_000);
  let product: WholeProduct;
  before(async function () {
    // A cluster has the addresses that it has.
    if (process.env.KUBECONFIG) return this.skip();
    product = await startWholeProduct({}, '::1');
  });
  after(() => product?.close());

  it('alone is enough to scan a site and to get its reports', async () => {
    expect([product.url, product.demoUrl].map((url) => new URL(url).hostname)).to.deep.equal(['[::1]', '[::1]']);
    const [pdf, json] = [join(product.dir, 'report.pdf'), join(product.dir, 'report.json')];
    const { code, stderr } = await product.curbcut('scan', product.demoUrl, '--max-pages', '1', '--pdf', pdf, '--export', json);
    expect(code, stderr).to.equal(0);
    expect(readFileSync(pdf, 'latin1')).to.match(/^%PDF/);
    const { pages } = JSON.parse(readFileSync(json, 'utf8')) as { pages: { url: string }[] };
    expect(pages.map(({ url }) => new URL(url).hostname)).to.deep.equal(['[::1]']);
  });
});
