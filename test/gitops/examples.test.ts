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
import { blocksOf, ROOT } from './manifests.ts';

const run = promisify(execFile);

describe('the commands of examples/README.md', function () {
  this.timeout(240_000);
  const commands = blocksOf('examples/README.md')
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text }) => text.trim().split('\n'));
  const folders = commands.map((command) => /^kubectl apply -k (\S+)$/.exec(command)?.[1]);
  let folder: string;
  let environment: NodeJS.ProcessEnv;
  let close: () => Promise<void> = async () => undefined;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'curbcut-examples-'));
    const kubeconfig = process.env['KUBECONFIG'] ?? join(folder, 'kubeconfig');
    environment = { ...process.env, KUBECONFIG: kubeconfig };
    if (process.env['KUBECONFIG']) {
      await sh(`kubectl apply ${CRDS.map((path) => `-f ${path}`).join(' ')}`);
      await sh(`kubectl create namespace ${DEFAULT_NAMESPACE}`).catch(() => undefined);
    } else {
      const kube = await startKube({ kubeconfigPath: kubeconfig, namespace: DEFAULT_NAMESPACE, crds: CRDS });
      close = () => kube.close();
    }
  });
  afterEach(async () => {
    if (process.env['KUBECONFIG']) {
      for (const path of folders) await sh(`kubectl delete --ignore-not-found --wait=false -k ${path}`);
      // The operators of other tests may have added a finalizer.
      await sh(`kubectl patch organisation shop --type=merge -p '{"metadata":{"finalizers":null}}'`).catch(() => undefined);
      await sh('kubectl wait --for=delete namespace/shop organisation/shop --timeout=120s');
    }
    await close();
    rmSync(folder, { recursive: true });
  });

  const sh = async (command: string): Promise<string> => (await run('bash', ['-euc', command], { cwd: ROOT, env: environment })).stdout;

  it('are two', () => {
    expect(folders).to.deep.equal(['examples/platform', 'examples/team']);
  });

  for (const [how, ordered] of [
    ['as printed', commands],
    ['in the other order', commands.toReversed()],
  ] as const)
    it(`create everything ${how}, and change nothing when they are repeated`, async () => {
      for (const command of ordered) expect(await sh(command)).to.match(/^(\S+ created\n)+$/);
      // The default queue may exist, because an operator creates it.
      for (const command of ordered) expect(await sh(command)).to.match(/^(\S+ unchanged\n)+$/);
    });
});
