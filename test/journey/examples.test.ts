/** The commands of examples/README.md on `make run`: everything that they apply is in effect, whichever comes first. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { blocksOf, ROOT } from '../gitops/manifests.ts';
import { ON_CLUSTER, startWholeProduct, type WholeProduct } from './product.ts';

const run = promisify(execFile);

describe('the examples on a running product', function () {
  this.timeout(240_000);
  let product: WholeProduct;
  before(async function () {
    // There, the product has a namespace of its own, and test/gitops/examples.test.ts applies them.
    if (ON_CLUSTER) return this.skip();
    product = await startWholeProduct();
  });
  after(() => product?.close());

  it('are ready, also if the team comes before the platform', async () => {
    const commands = blocksOf('examples/README.md').flatMap(({ language, text }) => (language === 'sh' ? text.trim().split('\n') : []));
    const env = { ...process.env, KUBECONFIG: product.environment.KUBECONFIG };
    for (const command of commands.toReversed()) await run('bash', ['-euc', command], { cwd: ROOT, env });
    const ready = (namespace: string, ...names: string[]) =>
      product.kubectl(['wait', '--for=condition=Ready', '--timeout=60s', '--namespace', namespace, ...names]);
    await ready('shop', 'organisation/shop', 'scanschedule/shop-nightly', 'knownissues/shop');
    await ready(product.namespace, 'scanqueue/default', 'scanqueue/nightly');
    const printed = await product.kubectl(['get', 'curbcut', '--namespace', 'shop']);
    for (const line of [/shop-nightly .* True +Scheduled /, /shop +shop\.example\.com .* True +Mirrored /]) expect(printed).to.match(line);
  });
});
