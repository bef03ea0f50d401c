/** The image `try` in a container: one pod without any rights, whose addresses lead through a port-forward. */
import { spawn, type ChildProcess } from 'node:child_process';
import { expect } from 'chai';
import { freePort } from '../../local/product.ts';
import { checkTry, printed } from '../journey/try.ts';
import { eventually, kubectl } from './release.ts';

const NAMESPACE = 'curbcut-try';
const IMAGE = `${process.env.IMAGE_PREFIX ?? 'curbcut.dev'}/try:${process.env.TAG ?? 'dev'}`;
const VERDICT_WITHIN_MS = 300_000;
/** `docker stop` kills what has not ended by then. */
const STOPS_WITHIN_MS = 10_000;

interface Terminated {
  exitCode: number;
  finishedAt: string;
}

describe('the image try', function () {
  this.timeout(VERDICT_WITHIN_MS + 120_000);
  let forward: ChildProcess | undefined;

  const inNamespace = (args: readonly string[], input?: string): Promise<string> => kubectl(['-n', NAMESPACE, ...args], input);

  before(async function () {
    if (!process.env.KUBECONFIG) return this.skip();
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE, labels } }));
  });
  after(async () => {
    forward?.kill();
    if (process.env.KUBECONFIG) await kubectl(['delete', 'namespace', NAMESPACE, '--ignore-not-found', '--timeout=120s']);
  });

  /** A pod with a read-only root and these folders in memory. */
  async function run(
    name: string,
    memory: string,
    folders: readonly string[],
    env: Record<string, string> = {},
    args: readonly string[] = [],
  ) {
    const container = {
      name: 'try',
      image: IMAGE,
      imagePullPolicy: 'IfNotPresent',
      args,
      env: Object.entries(env).map(([key, value]) => ({ name: key, value })),
      resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory } },
      securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
      volumeMounts: folders.map((path) => ({ name: path.slice(1), mountPath: path })),
    };
    const spec = {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: STOPS_WITHIN_MS / 1000,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [container],
      volumes: folders.map((path) => ({ name: path.slice(1), emptyDir: { medium: 'Memory' } })),
    };
    await inNamespace(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec }));
  }

  async function ended(name: string, withinMs: number): Promise<Terminated> {
    const read = async () => inNamespace(['get', 'pod', name, '-o', 'jsonpath={.status.containerStatuses[0].state.terminated}']);
    return JSON.parse(await eventually(read, (text) => text !== '', withinMs)) as Terminated;
  }

  it('prints a first verdict; its addresses work through a port-forward; it ends when it is asked to', async () => {
    const port = await freePort();
    await run('whole', '2Gi', ['/tmp', '/data'], { PUBLIC_BASE_URL: `http://127.0.0.1:${port}` }, ['--pages', '3']);
    const read = async () => inNamespace(['logs', 'whole']).catch(() => '');
    const output = await eventually(read, (text) => text.includes('Curbcut is serving'), VERDICT_WITHIN_MS);

    forward = spawn('kubectl', ['-n', NAMESPACE, 'port-forward', 'pod/whole', `${port}:8080`], { stdio: ['ignore', 'pipe', 'inherit'] });
    await new Promise<void>((resolve) => forward!.stdout!.once('data', () => resolve()));
    await checkTry(printed(output), port);

    const asked = Date.now();
    await inNamespace(['exec', 'whole', '--', 'sh', '-c', 'kill -TERM 1']);
    const { exitCode, finishedAt } = await ended('whole', 60_000);
    expect(exitCode, await read()).to.equal(0);
    expect(Date.parse(finishedAt) - asked).to.be.lessThan(STOPS_WITHIN_MS);
  });

  it('says what a container lacks, instead of failing later', async () => {
    await Promise.all([run('small', '512Mi', ['/tmp', '/data']), run('read-only', '2Gi', ['/tmp'])]);
    expect((await ended('small', 120_000)).exitCode).to.equal(1);
    expect(await inNamespace(['logs', 'small'])).to.match(/^The container may use 537 MB of memory; Curbcut with a browser needs 1500 MB /);
    expect((await ended('read-only', 120_000)).exitCode).to.equal(1);
    expect(await inNamespace(['logs', 'read-only'])).to.match(
      /^The container cannot write to \/data; with a read-only root, mount a tmpfs there /,
    );
  });
});
