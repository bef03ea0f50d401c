/** The API's process: environment, probes and signals. */
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'chai';
import { environmentOf } from './stack.ts';
import { eventually } from './context.ts';

const MAIN = join(import.meta.dirname, '../../api/main.ts');

describe('API process', () => {
  const children: ChildProcess[] = [];
  after(() => {
    for (const child of children) child.kill('SIGKILL');
  });

  function start(environment: Record<string, string>) {
    const child = spawn(process.execPath, [MAIN], { env: { PATH: process.env.PATH, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] });
    children.push(child);
    const output = { out: '', err: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output.out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output.err += text));
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
    return { child, output, ended };
  }

  it('becomes ready, serves requests, and exits with 0 on SIGTERM', async () => {
    const { child, output, ended } = start({ ...(await environmentOf()), PORT: '0' });
    const address = await eventually('the address', () => /"address":"([^"]+)"/.exec(output.out)?.[1], 20_000);
    const ready = await eventually('readiness', async () => {
      const answer = await fetch(`${address}/readyz`);
      return answer.ok && ((await answer.json()) as { missing: string[] });
    });
    expect(ready.missing).to.not.include('mongodb');
    expect(await (await fetch(`${address}/metrics`)).text()).to.include('curbcut_process_cpu_seconds_total');
    child.kill('SIGTERM');
    expect(await ended).to.equal(0);
    const lines = output.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { msg: string });
    expect(lines.at(-1)?.msg).to.equal('closed');
    expect(output.out + output.err).to.not.include('test-secret');
  });

  it('reports every error in its environment at once, and exits with 1', async () => {
    const { output, ended } = start({ PORT: 'http', S3_BUCKET: 'b', S3_SECRET_ACCESS_KEY: 'hush', ALLOW_TARGETS: '10.0.0.0/99' });
    expect(await ended).to.equal(1);
    for (const name of ['PORT', 'MONGODB_URL', 'S3_ENDPOINT', 'S3_ACCESS_KEY_ID', 'ALLOW_TARGETS'])
      expect(output.err).to.include(`- ${name} `);
    expect(output.err).to.not.include('hush').and.not.include('    at ');
  });

  it('keeps running while a dependency is down, and reports which', async () => {
    const { child, output, ended } = start({
      ...(await environmentOf()),
      PORT: '0',
      MONGODB_URL: 'mongodb://127.0.0.1:1/',
      NATS_URL: 'nats://127.0.0.1:1',
    });
    const address = await eventually('the address', () => /"address":"([^"]+)"/.exec(output.out)?.[1], 20_000);
    expect((await fetch(`${address}/healthz`)).status).to.equal(200);
    const answer = await fetch(`${address}/readyz`);
    expect(answer.status).to.equal(503);
    expect(((await answer.json()) as { missing: string[] }).missing).to.include.members(['mongodb', 'nats']);
    child.kill('SIGINT');
    expect(await ended).to.equal(0);
  });
});
