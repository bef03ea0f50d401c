/** A platform engineer with kubectl on a cluster that has Curbcut and nothing else: the examples as printed, a wrong schedule, and why. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { parseAllDocuments } from 'yaml';
import { kubectl, removeNamespace } from '../../cluster/release.ts';
import { blocksOf, ROOT } from '../../gitops/manifests.ts';
import { eventually, ON_CLUSTER, startWholeProduct, type WholeProduct } from '../product.ts';
import { sharedProduct } from '../shared-product.ts';

const run = promisify(execFile);

/**
 * On a cluster, other tests and people may have what the examples create, and other operators act on every Organisation of their
 * class. So names and the operator class are of this test only.
 */
const SHOP = ON_CLUSTER ? `shop-${randomUUID().slice(0, 8)}` : 'shop';
const CLASS = ON_CLUSTER ? SHOP : undefined;

interface Example {
  kind: string;
  spec?: { class?: string; scanTemplate?: { spec: { class?: string } } };
}

/** @param text of `kubectl kustomize` @returns the resources with the names, the namespace and the operator class of this test. */
function renamed(text: string, namespace: string): string {
  return parseAllDocuments(text)
    .map((document) => {
      const json = JSON.stringify(document.toJS())
        .replaceAll('"curbcut-scans"', JSON.stringify(namespace))
        .replace(/(?<=")shop(?=["-])/g, SHOP);
      const example = JSON.parse(json) as Example;
      const spec = example.kind === 'ScanSchedule' ? example.spec!.scanTemplate!.spec : example.spec;
      if (spec !== undefined && example.kind !== 'ScanQueue') spec.class = CLASS;
      return JSON.stringify(example);
    })
    .join('\n');
}

describe('a platform engineer with kubectl', function () {
  this.timeout(240_000);
  let product: WholeProduct;
  before(async () => {
    const watched = [SHOP, `${SHOP}-staging`, `${SHOP}-previews`].join(',');
    product = CLASS === undefined ? await sharedProduct() : await startWholeProduct({ CURBCUT_CLASS: CLASS, WATCH_NAMESPACES: watched });
  });
  after(async () => {
    if (CLASS === undefined) return;
    // While the operator acts, because it removes the finalizers.
    await product?.kubectl(['delete', 'organisation', SHOP, '--ignore-not-found', '--timeout=60s']);
    await removeNamespace(SHOP);
    await product?.close();
  });

  /** The cells of a row that `kubectl get` prints, by their columns. */
  async function printed(kind: string, name: string, namespace = product.namespace): Promise<Record<string, string>> {
    const output = await product.kubectl(['get', kind, name, '--namespace', namespace]);
    if (process.env['WALK_LOG']) console.log(output);
    const [head, row] = output.trimEnd().split('\n') as [string, string];
    const columns = [...head.matchAll(/\S+(?: \S+)*/g)].map(({ 0: column, index }) => ({ column, index }));
    return Object.fromEntries(
      columns.map(({ column, index }, at) => [column, row.slice(index, columns[at + 1]?.index).trim()] as [string, string]),
    );
  }
  const schedule = (name: string, expression: string) =>
    JSON.stringify({
      apiVersion: 'curbcut.dev/v1',
      kind: 'ScanSchedule',
      metadata: { name },
      spec: { schedule: expression, scanTemplate: { spec: { url: product.demoUrl, maxPages: 1, class: CLASS } } },
    });

  it('applies the examples as printed, the team’s before the platform’s, and sees that all of them are ready', async () => {
    const commands = blocksOf('examples/README.md').flatMap(({ language, text }) => (language === 'sh' ? text.trim().split('\n') : []));
    const env = { ...process.env, KUBECONFIG: product.environment.KUBECONFIG };
    const sh = async (command: string): Promise<string> => (await run('bash', ['-euc', command], { cwd: ROOT, env })).stdout;
    const apply = async (command: string): Promise<string> => {
      if (CLASS === undefined) return sh(command);
      const folder = await sh(command.replace('kubectl apply -k', 'kubectl kustomize'));
      return kubectl(['--kubeconfig', env.KUBECONFIG!, 'apply', '-f', '-'], renamed(folder, product.namespace));
    };
    for (const command of commands.toReversed()) await apply(command);
    const ready = (namespace: string, ...names: string[]) =>
      product.kubectl(['wait', '--for=condition=Ready', '--timeout=60s', '--namespace', namespace, ...names]);
    await ready(SHOP, `organisation/${SHOP}`, `scanschedule/${SHOP}-nightly`, `knownissues/${SHOP}`);
    await ready(product.namespace, 'scanqueue/default', 'scanqueue/nightly');
    const all = await product.kubectl(['get', 'curbcut', '--namespace', SHOP]);
    for (const line of ['-nightly .* True +Scheduled ', ' +shop\\.example\\.com .* True +Mirrored '])
      expect(all).to.match(new RegExp(SHOP + line));
    expect(await printed('organisation', SHOP)).to.include({ READY: 'True' });
    for (const command of commands) expect(await apply(command), 'the examples, applied again').to.match(/^(\S+ unchanged\n)+$/);
  });

  it('sees at once that a schedule never fires, and reads why', async () => {
    await product.kubectl(['apply', '-f', '-'], schedule('never', '0 0 30 2 *'));
    const row = await eventually(
      () => printed('scanschedule', 'never'),
      ({ READY: ready }) => ready === 'False',
    );
    expect(row).to.include({ SCHEDULE: '0 0 30 2 *', READY: 'False', REASON: 'InvalidSchedule' });
    const described = await eventually(
      () => product.kubectl(['describe', 'scanschedule', 'never']),
      (text) => /Warning +InvalidSchedule/.test(text),
    );
    if (process.env['WALK_LOG']) console.log(described);
    expect(described).to.match(/Message: +.*never fires/);
  });

  it('corrects it, and sees when it runs', async () => {
    await product.kubectl(['apply', '-f', '-'], schedule('never', '0 3 1 * *'));
    const row = await eventually(
      () => printed('scanschedule', 'never'),
      ({ READY: ready }) => ready === 'True',
    );
    expect(row).to.include({ REASON: 'Scheduled' });
    const namespace = await product.kubectl(['get', 'curbcut']);
    expect(namespace).to.match(/scanschedule.curbcut.dev\/never .* True +Scheduled /);
  });
});
