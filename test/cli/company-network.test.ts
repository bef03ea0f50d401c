/** The command line in the network of a company: a proxy, authorities of its own, and failures that no waiting cures. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { isUnsent, remedyOf } from '../../cli/service/network.ts';
import { startProxy } from '../support/http-proxy.ts';
import { createAuthority, restoreAuthorities, startTlsFront } from '../support/private-authority.ts';
import { curbcut, KEY, replies, routes, startService, type Service } from './service.ts';

const ROOT = join(import.meta.dirname, '..', '..');

describe('curbcut in the network of a company', () => {
  restoreAuthorities();
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function service(): Promise<Service & { port: number }> {
    const own = await startService(routes({ 'GET /v1/ci/scans': [replies(200, { data: [], next_cursor: null })] }));
    closing.push(() => own.close());
    return { ...own, port: Number(new URL(own.url).port) };
  }

  /** Runs `curbcut list` as its users do: proxies and authorities are those of the process. */
  const list = (environment: Record<string, string>): Promise<{ code: number; err: string }> =>
    new Promise((resolve) => {
      const { PATH, NODE_COMPILE_CACHE } = process.env;
      const env = { PATH, NODE_COMPILE_CACHE, CURBCUT_API_KEY: KEY, ...environment };
      const args = [join(ROOT, 'cli', 'start.cjs'), 'curbcut', 'cli/main.ts', 'list', '--max-wait', '0'];
      execFile(process.execPath, args, { env, cwd: ROOT }, (error, _, err) =>
        resolve({ code: error === null ? 0 : Number(error.code), err }),
      );
    });

  it('goes through the proxy of the environment, but not to the hosts of NO_PROXY', async () => {
    const [own, proxy] = [await service(), await startProxy()];
    closing.push(() => proxy.close());
    const only = { CURBCUT_URL: `http://curbcut.company:${own.port}`, HTTP_PROXY: proxy.url };
    expect(await list(only)).to.deep.include({ code: 0 });
    expect([own.requests.length, proxy.asked.length]).to.deep.equal([1, 1]);
    expect(await list({ ...only, CURBCUT_URL: own.url, NO_PROXY: '127.0.0.1' })).to.deep.include({ code: 0 });
    expect([own.requests.length, proxy.asked.length]).to.deep.equal([2, 1]);
  });

  it('trusts the authorities of the system', async () => {
    const own = await service();
    const authority = createAuthority('company');
    const front = await startTlsFront(own.port, authority.issue());
    closing.push(() => front.close());
    const folder = await mkdtemp(join(tmpdir(), 'curbcut-system-'));
    closing.push(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'ca.pem'), authority.bundle);
    const url = { CURBCUT_URL: `https://127.0.0.1:${front.port}` };
    expect(await list(url)).to.deep.include({ code: 2 });
    expect(await list({ ...url, SSL_CERT_FILE: join(folder, 'ca.pem') })).to.deep.equal({ code: 0, err: '' });
  });

  it('ends at once if the certificate is of an unknown authority, and says what to do, not that a scan may run', async () => {
    const own = await service();
    const front = await startTlsFront(own.port, createAuthority('unknown').issue());
    closing.push(() => front.close());
    const ran = await curbcut(['scan', 'https://x.example/'], { url: `https://127.0.0.1:${front.port}` });
    expect([ran.code, ran.slept]).to.deep.equal([2, []]);
    expect(ran.stderr)
      .to.match(/cannot be reached \(.*certificate.*\)\.\nSet NODE_EXTRA_CA_CERTS/)
      .and.not.include('unknown whether');
    expect(own.requests).to.deep.equal([]);
  });

  it('does not say that a scan may run if no connection was made', async () => {
    const own = await service();
    const { url } = own;
    await closing.pop()!();
    const ran = await curbcut(['scan', 'https://x.example/', '--max-wait', '1'], { url });
    expect(ran.code).to.equal(2);
    expect(ran.stderr).to.include('ECONNREFUSED').and.not.include('unknown whether');
  });

  const failed = (code: string) => new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) });
  for (const [code, unsent, permanent] of [
    ['ENOTFOUND', true, true],
    ['CERT_HAS_EXPIRED', true, true],
    ['ERR_TLS_CERT_ALTNAME_INVALID', true, true],
    ['EAI_AGAIN', true, false],
    ['ECONNREFUSED', true, false],
    ['ECONNRESET', false, false],
    ['UND_ERR_HEADERS_TIMEOUT', false, false],
  ] as const)
    it(`${permanent ? 'ends at once' : 'tries again'} after ${code}, which ${unsent ? 'sent nothing' : 'may have sent the request'}`, () =>
      expect([isUnsent(failed(code)), remedyOf(failed(code), 'CURBCUT_URL') !== null]).to.deep.equal([unsent, permanent]));
});
