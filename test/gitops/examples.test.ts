/** The commands of examples/README.md, as printed, in both orders, on an API server that has the definitions and nothing else. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { DEFAULT_NAMESPACE } from '../../core/protocol/custom-resources.ts';
import { startKube } from '../../local/kube/kube.ts';
import { CRDS } from '../../local/stack.ts';
import { removeNamespace } from '../cluster/release.ts';
import { blocksOf, ROOT } from './manifests.ts';

const run = promisify(execFile);
/** The label of a namespace that this test created. */
const OURS = 'curbcut.dev/test=examples';

describe('the commands of examples/README.md', function () {
  this.timeout(240_000);
  const commands = blocksOf('examples/README.md')
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text }) => text.trim().split('\n'));
  let folder: string;
  let environment: NodeJS.ProcessEnv;
  let close: () => Promise<void> = async () => undefined;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'curbcut-examples-'));
    const kubeconfig = process.env['KUBECONFIG'] ?? join(folder, 'kubeconfig');
    environment = { ...process.env, KUBECONFIG: kubeconfig };
    if (process.env['KUBECONFIG']) {
      await sh(`kubectl apply ${CRDS.map((path) => `-f ${path}`).join(' ')}`);
      // What an interrupted run left behind.
      if (await sh(`kubectl get namespace -l ${OURS} -o name`)) await remove();
      // Of a release or of people: it is neither changed nor removed.
      const taken = await sh(`kubectl get namespace/${DEFAULT_NAMESPACE} namespace/shop organisation/shop --ignore-not-found -o name`);
      if (taken !== '') throw new Error(`the cluster has what the examples create; remove it or use another cluster: ${taken}`);
      close = remove;
      await sh(`kubectl create namespace ${DEFAULT_NAMESPACE}`);
      await sh(`kubectl label namespace ${DEFAULT_NAMESPACE} ${OURS}`);
    } else {
      const kube = await startKube({ kubeconfigPath: kubeconfig, namespace: DEFAULT_NAMESPACE, crds: CRDS });
      close = () => kube.close();
    }
  });
  afterEach(async () => {
    await close();
    close = async () => undefined;
    rmSync(folder, { recursive: true });
  });

  const sh = async (command: string): Promise<string> => (await run('bash', ['-euc', command], { cwd: ROOT, env: environment })).stdout;

  /** Removes everything that the examples created. No operator acts on it, or those of other tests, which may have added a finalizer. */
  async function remove(): Promise<void> {
    await sh('kubectl delete organisation shop --ignore-not-found --wait=false');
    const merge = `--type=merge -p '{"metadata":{"finalizers":null}}'`;
    await sh(`kubectl patch organisation shop ${merge}`).catch(() => undefined);
    // Last the one with the label: an interruption before it is noticed by the next run.
    for (const namespace of ['shop', DEFAULT_NAMESPACE]) await removeNamespace(namespace);
  }

  for (const [how, ordered] of [
    ['as printed', commands],
    ['in the other order', commands.toReversed()],
  ] as const)
    it(`create everything ${how}, and change nothing when they are repeated`, async () => {
      for (const command of ordered) expect(await sh(command)).to.match(/^(\S+ created\n)+$/);
      for (const command of ordered) expect(await sh(command)).to.match(/^(\S+ unchanged\n)+$/);
    });
});
