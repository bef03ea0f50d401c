/** The API's process: environment, probes and signals. */
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'chai';
import { mountSecret } from '../support/mounted-secret.ts';
import { environmentOf } from './stack.ts';
import { eventually } from './context.ts';

const MAIN = join(import.meta.dirname, '../../api/main.ts');

describe('API process', () => {
  const children: ChildProcess[] = [];
  after(() => {
    for (const child of children) child.kill('SIGKILL');
  });

  function start(environment: Record<string, string>) {
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const child = spawn(process.execPath, [MAIN], {
      env: { PATH, NODE_COMPILE_CACHE, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    const output = { out: '', err: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output.out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output.err += text));
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
    return { child, output, ended };
  }

  /** The addresses of the public port and of the probes, when the process listens. */
  async function addressesOf(output: { out: string }): Promise<{ address: string; probes: string }> {
    const address = await eventually('the address', () => /"address":"([^"]+)"/.exec(output.out)?.[1]);
    return { address, probes: `http://127.0.0.1:${/"port":(\d+)/.exec(output.out)![1]}` };
  }
  const missingOf = async (probes: string): Promise<string[]> =>
    ((await (await fetch(`${probes}/readyz`)).json()) as { missing: string[] }).missing;

  it('is ready without the object store, uses changed credentials without a restart, and exits with 0 on SIGTERM', async () => {
    const { MONGODB_URL, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY, ...rest } = await environmentOf();
    const secret = { MONGODB_URL: MONGODB_URL!, S3_ACCESS_KEY_ID: S3_ACCESS_KEY_ID!, S3_SECRET_ACCESS_KEY: 'not-this-one' };
    const mounted = mountSecret(secret);
    try {
      const { child, output, ended } = start({ ...rest, ...mounted.environment, PORT: '0', METRICS_PORT: '0' });
      const { address, probes } = await addressesOf(output);
      await eventually('readiness', async () => (await fetch(`${probes}/readyz`)).ok);
      await eventually('all but the objects', async () => (await missingOf(probes)).join() === 'objects');
      for (const path of ['/readyz', '/metrics']) expect((await fetch(address + path)).status, path).to.equal(404);
      expect((await fetch(`${address}/healthz`)).status).to.equal(200);

      const other = `${MONGODB_URL}${MONGODB_URL!.includes('?') ? '&' : '?'}appName=rotated`;
      mounted.write({ ...secret, MONGODB_URL: other, S3_SECRET_ACCESS_KEY: S3_SECRET_ACCESS_KEY! });
      await eventually('every dependency', async () => (await missingOf(probes)).length === 0);
      await eventually('the other connections', () => output.out.includes('database connections replaced'));
      const metrics = await (await fetch(`${probes}/metrics`)).text();
      expect(metrics).to.include('curbcut_process_cpu_seconds_total').and.include('curbcut_dependency_up{dependency="objects"} 1');

      child.kill('SIGTERM');
      expect(await ended).to.equal(0);
      expect(output.out.trim().split('\n').at(-1)).to.include('"msg":"closed"');
      expect(output.out + output.err).to.not.match(/test-secret|not-this-one/);
    } finally {
      mounted.remove();
    }
  });

  it('reports every error in its environment at once, and exits with 1', async () => {
    const { output, ended } = start({ PORT: 'http', S3_BUCKET: 'b', S3_SECRET_ACCESS_KEY: 'hush', ALLOW_TARGETS: '10.0.0.0/99' });
    expect(await ended).to.equal(1);
    for (const name of ['PORT', 'MONGODB_URL', 'S3_ENDPOINT', 'S3_ACCESS_KEY_ID', 'ALLOW_TARGETS'])
      expect(output.err).to.include(`- ${name} `);
    expect(output.err).to.not.include('hush').and.not.include('    at ');
  });

  it('is alive but not ready while MongoDB is down, and reports what is missing', async () => {
    const { child, output, ended } = start({
      ...(await environmentOf()),
      PORT: '0',
      METRICS_PORT: '0',
      MONGODB_URL: 'mongodb://127.0.0.1:1/',
      NATS_URL: 'nats://127.0.0.1:1',
    });
    const { address, probes } = await addressesOf(output);
    expect((await fetch(`${address}/healthz`)).status).to.equal(200);
    expect((await fetch(`${probes}/readyz`)).status).to.equal(503);
    expect(await missingOf(probes)).to.include.members(['mongodb', 'nats']);
    child.kill('SIGINT');
    expect(await ended).to.equal(0);
  });
});
