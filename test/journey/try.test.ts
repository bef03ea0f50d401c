/**
 * The program of the image `try`, as a process: what it prints, and that its links lead through its one port. On the cluster
 * `test/cluster/try.test.ts` runs the image.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { freePort } from '../../local/product.ts';
import { checkTry, printed } from './try.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const VERDICT_WITHIN_MS = 300_000;
/** Docker sets the proxy of its configuration in every container. This one does not exist. */
const MACHINE = { HTTPS_PROXY: 'http://127.0.0.1:9', NO_PROXY: '10.0.0.0/8,http://x' };

describe('the whole product in one container', () => {
  let state: string;
  let port: number;
  let child: ChildProcess;
  let output = '';

  function start(environment: NodeJS.ProcessEnv, args: readonly string[] = []): ChildProcess {
    const { PATH, HOME, CHROMIUM_PATH, NODE_COMPILE_CACHE } = process.env;
    const started = spawn(process.execPath, [join(ROOT, 'local/main.ts'), ...args], {
      env: { PATH, HOME, CHROMIUM_PATH, NODE_COMPILE_CACHE, CURBCUT_CONTAINER: 'true', PORT: String(port), ...MACHINE, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    output = '';
    for (const stream of [started.stdout, started.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    return started;
  }

  before(async () => {
    state = await mkdtemp(join(tmpdir(), 'curbcut-try-'));
    port = await freePort();
  });
  after(async () => {
    child.kill('SIGKILL');
    await rm(state, { recursive: true, force: true });
  });

  it('prints its address, a key and a first verdict; all links lead through one port', async function () {
    this.timeout(VERDICT_WITHIN_MS + 60_000);
    const url = `http://127.0.0.1:${port}`;
    child = start({ CURBCUT_STATE: state, PUBLIC_BASE_URL: url }, ['--pages', '1']);
    const ended = once(child, 'exit').then(() => true);
    while (!output.includes('Curbcut is serving')) {
      const stopped = await Promise.race([ended, new Promise<false>((resolve) => setTimeout(() => resolve(false), 200))]);
      if (stopped) throw new Error(output);
    }
    expect(output).to.include(`Curbcut is serving on ${url}.`).and.not.include('.curbcut/');
    await checkTry(printed(output), port);
    const { stdout } = await promisify(execFile)(join(ROOT, 'bin', 'curbcut-admin'), ['organisation', 'list'], {
      env: { PATH: process.env.PATH, CURBCUT_STATE: state },
    });
    expect(stdout, 'without a database in its environment').to.match(/^demo /m);

    child.kill('SIGTERM');
    const [code] = (await once(child, 'exit')) as [number];
    expect(code, output).to.equal(0);
  });

  it('refuses arguments that it does not know, in one sentence', async () => {
    for (const [args, sentence] of [
      [['--page', '2'], "Unknown option '--page'"],
      [['http://a.example/', 'http://b.example/'], 'One URL can be scanned, not 2'],
    ] as const) {
      const [code] = (await once(start({}, args), 'close')) as [number];
      expect([code, output]).to.deep.equal([2, `${sentence}. Usage: docker run --rm -p 127.0.0.1:8080:8080 IMAGE [http://…]\n`]);
    }
  });
});
