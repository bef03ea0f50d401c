/** `curbcut login`, `logout` and `open`. */
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { writeLogin } from '../../cli/config.ts';
import { curbcut, KEY, replies, result, routes, SCAN_ID, startService, type Service } from './service.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const ME = { organisation: { id: 'acme', name: 'Acme Ltd', plan: 'free' }, key: { id: 'x' }, permissions: ['scans:read', 'scans:write'] };

describe('curbcut login', () => {
  let home: string;
  let service: Service;
  let file: string;
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'curbcut-test-'));
    file = join(home, '.config/curbcut/login.json');
    service = await startService(
      routes({
        'GET /v1/me': [
          ({ headers }) =>
            headers['x-api-key'] === KEY ? { status: 200, body: ME } : { status: 401, body: { detail: 'invalid_api_key' } },
        ],
        'GET /v1/ci/scans': [replies(200, { data: [{ ...result(), submitted_at: '2026-03-02T10:00:00Z' }], next_cursor: null })],
      }),
    );
  });
  afterEach(async () => {
    await service.close();
    await rm(home, { recursive: true });
  });
  const run = (args: string[], environment: Record<string, string> = {}, secret = KEY) =>
    curbcut(args, { environment: { HOME: home, ...environment }, secret });
  const keysOf = (path: string) => service.of('GET', path).map(({ headers }) => headers['x-api-key']);

  it('checks the key, and stores it readable only by the user; the other commands use it', async () => {
    const ran = await run(['login', service.url]);
    expect(ran).to.deep.include({ code: 0, stderr: '' });
    expect(ran.stdout).to.equal(`Logged in to ${service.url} as Acme Ltd, with scans:read, scans:write.\n`);
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
    expect(JSON.parse(await readFile(file, 'utf8'))).to.deep.equal({ url: service.url, apiKey: KEY });
    expect((await run(['list'])).code).to.equal(0);
    expect(keysOf('/v1/ci/scans?limit=20')).to.deep.equal([KEY]);
    // Another key for the same service.
    expect((await run(['login'], {}, ` ${KEY}\n`)).code).to.equal(0);
  });

  it('stores nothing that the service refuses, and never prints the key', async () => {
    for (const [secret, said] of [
      ['svc_live_wrong', 'The API key was not accepted (401)'],
      ['two words', 'CURBCUT_API_KEY is (hidden)'],
      ['', 'No API key was given'],
    ] as const) {
      const ran = await run(['login', service.url], {}, secret);
      expect([ran.code, ran.stdout, ran.stderr.includes(said)], ran.stderr).to.deep.equal([2, '', true]);
      if (secret !== '') expect(ran.stderr).to.not.include(secret);
    }
    expect((await run(['login', 'ftp://x'])).stderr).to.include('CURBCUT_URL is "ftp://x"');
    expect((await run(['login'])).stderr).to.include('Which service?');
    expect((await curbcut(['login', service.url], { environment: {}, secret: KEY })).stderr).to.include('set HOME or XDG_CONFIG_HOME');
    expect(await stat(file).catch(() => null)).to.equal(null);
  });

  it('is preceded by the environment, and its key is sent to its own service only', async () => {
    await run(['login', service.url]);
    const other = await startService(() => ({ status: 200, body: { data: [], next_cursor: null } }));
    try {
      expect((await run(['list'], { CURBCUT_URL: other.url })).stderr).to.include('CURBCUT_API_KEY is not set');
      expect((await run(['list'], { CURBCUT_URL: other.url, CURBCUT_API_KEY: 'svc_live_other' })).code).to.equal(0);
      expect(other.requests.map(({ headers }) => headers['x-api-key'])).to.deep.equal(['svc_live_other']);
    } finally {
      await other.close();
    }
  });

  it('gets no key of the environment, which may be for another service', async () => {
    await run(['login', service.url]);
    const again = await run(['login'], { CURBCUT_API_KEY: 'svc_live_other' });
    expect(again).to.include({ code: 0, stderr: 'CURBCUT_API_KEY is set in the environment, which precedes what is stored.\n' });
    const ran = await run(['list'], { CURBCUT_API_KEY: 'svc_live_other' });
    expect(ran).to.include({ code: 2, stdout: '' });
    expect(ran.stderr)
      .to.include('CURBCUT_URL is not set')
      .and.include('set CURBCUT_URL too, or unset the key')
      .and.not.include('svc_live_o');
    expect(keysOf('/v1/ci/scans?limit=20')).to.deep.equal([]);
  });

  it('is for the service, however its address is written', async () => {
    for (const [stored, named] of [
      [service.url, `${service.url}/`],
      [`${service.url}//`, service.url],
      [service.url.replace('http', 'HTTP'), service.url],
    ] as const) {
      await writeLogin(file, { url: stored, apiKey: KEY });
      expect((await run(['list'], { CURBCUT_URL: named })).code, stored).to.equal(0);
    }
    expect(keysOf('/v1/ci/scans?limit=20')).to.deep.equal([KEY, KEY, KEY]);
  });

  it('uses XDG_CONFIG_HOME, and refuses a file that others may read or that is no login', async () => {
    const folder = join(home, 'config');
    const stored = join(folder, 'curbcut/login.json');
    expect((await run(['login', service.url], { XDG_CONFIG_HOME: folder })).code).to.equal(0);
    await chmod(stored, 0o644);
    const readable = await run(['list'], { XDG_CONFIG_HOME: folder });
    expect([readable.code, readable.stderr.includes(`Run: chmod 600 ${stored}`)]).to.deep.equal([2, true]);
    await chmod(stored, 0o600);
    await writeFile(stored, '{}');
    expect((await run(['list'], { XDG_CONFIG_HOME: folder })).stderr).to.include('is not a login of this command');
    await mkdir(join(home, '.config/curbcut/login.json'), { recursive: true });
    expect((await run(['list'])).stderr).to.include('cannot be read');
    expect((await run(['login', service.url])).stderr).to.include('The login cannot be stored');
  });

  it('logout removes what is stored, also if nothing is', async () => {
    await run(['login', service.url]);
    for (let time = 0; time < 2; time += 1) expect((await run(['logout'])).stdout).to.include('Logged out. The API key is still valid');
    expect((await run(['list'])).stderr)
      .to.include('CURBCUT_URL is not set')
      .and.include('curbcut login');
  });

  it('reads the key of the process from standard input', async () => {
    const ended = await new Promise<{ code: number; text: string }>((resolve) => {
      const child = execFile(
        join(ROOT, 'bin/curbcut'),
        ['login', service.url],
        { env: { PATH: process.env.PATH, HOME: home } },
        (error, out, err) => resolve({ code: error === null ? 0 : Number(error.code), text: out + err }),
      );
      child.stdin!.end(`${KEY}\n`);
    });
    expect(ended).to.deep.include({ code: 0 });
    expect(ended.text).to.include('Logged in').and.not.include(KEY);
  });

  describe('curbcut open', () => {
    it('prints the address of a scan, and opens it only if there is a display', async () => {
      const programs = join(home, 'bin');
      await mkdir(programs);
      await writeFile(
        join(programs, 'xdg-open'),
        `#!/bin/sh\necho "$1" > '${home}/opened.part'; mv '${home}/opened.part' '${home}/opened'\n`,
        { mode: 0o755 },
      );
      const variables = { CURBCUT_URL: service.url, CURBCUT_API_KEY: KEY, PATH: `${programs}:${process.env.PATH}` };
      const link = `${service.url}/dashboard/scans/${SCAN_ID}\n`;
      const opened = (): Promise<string | null> => readFile(join(home, 'opened'), 'utf8').catch(() => null);
      expect(await run(['open'], variables)).to.include({ code: 0, stdout: link });
      expect(await opened()).to.equal(null);
      expect((await run(['open', SCAN_ID], { ...variables, DISPLAY: ':0' })).stdout).to.equal(link);
      while ((await opened()) === null) await new Promise((resolve) => setTimeout(resolve, 20));
      expect(await opened()).to.equal(link);
      const missing = await run(['open', SCAN_ID], { ...variables, PATH: home, WAYLAND_DISPLAY: 'wayland-0' });
      expect(missing).to.include({ code: 0, stdout: link });
      expect(missing.stderr).to.include('The browser was not opened');
    });
  });
});
