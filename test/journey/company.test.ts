/**
 * The first afternoon in a company: a provider as Entra ID, a name that only the proxy knows, a certificate of the proxy's own authority,
 * and a client of event streams that is not ours.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { freePort } from '../../local/product.ts';
import { createClient, tokenIn } from '../api/client.ts';
import { startProxy, type TestProxy } from '../support/http-proxy.ts';
import { startProvider, type TestProvider } from '../support/oidc-provider.ts';
import { createAuthority, startTlsFront, type TlsFront } from '../support/private-authority.ts';
import { eventually, type WholeProduct } from './product.ts';
import { sharedProduct } from './shared-product.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const HOST = 'curbcut.company';
const run = promisify(execFile);
/** Without the proxy of the machine that runs the tests. */
const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
const BASE = { PATH, HOME, NODE_COMPILE_CACHE };

/** Follows the stream of a new scan with nothing but `eventsource` and the environment. Prints the events, and the statuses of its requests. */
const FOLLOW = `
  import { EventSource } from 'eventsource';
  const { CURBCUT_URL, CURBCUT_API_KEY, SITE } = process.env;
  const headers = { 'X-API-Key': CURBCUT_API_KEY, 'Content-Type': 'application/json' };
  const submitted = await fetch(CURBCUT_URL + '/v1/ci/scans', { method: 'POST', headers, body: JSON.stringify({ url: SITE, max_pages: 1 }) });
  const { status_url } = await submitted.json();
  const [events, statuses] = [[], []];
  const source = new EventSource(CURBCUT_URL + status_url + '/events', {
    fetch: async (url, init) => {
      const response = await fetch(url, { ...init, headers: { ...init.headers, 'X-API-Key': CURBCUT_API_KEY } });
      statuses.push(response.status);
      return response;
    },
  });
  source.addEventListener('message', ({ data }) => events.push(JSON.parse(data).event));
  // Its timer for the next attempt does not keep a process running.
  const running = setInterval(() => undefined, 1000);
  source.addEventListener('error', () => {
    if (source.readyState !== EventSource.CLOSED) return;
    clearInterval(running);
    console.log(JSON.stringify({ events, statuses }));
  });
`;

describe('the first afternoon in a company', function () {
  this.timeout(180_000);
  let product: WholeProduct;
  let proxy: TestProxy;
  let front: TlsFront;
  let provider: TestProvider;
  let api: ChildProcess;
  let local: string;
  let url: string;
  let authority: string;
  /** What an engineer exports. */
  const environment = { CURBCUT_URL: '', CURBCUT_API_KEY: '', HTTPS_PROXY: '', NODE_EXTRA_CA_CERTS: '', NODE_USE_ENV_PROXY: '1' };

  before(async () => {
    product = await sharedProduct();
    const [port, probes, company] = [await freePort(), await freePort(), createAuthority('company')];
    [proxy, front] = [await startProxy(), await startTlsFront(port, company.issue([HOST]))];
    [url, local] = [`https://${HOST}:${front.port}`, `http://127.0.0.1:${port}`];
    provider = await startProvider(`${url}/dashboard/sign-in/oidc/callback`);
    authority = join(product.dir, 'company.pem');
    await writeFile(authority, company.bundle);
    await run(join(ROOT, 'bin', 'curbcut-admin'), ['organisation', 'ensure', 'company', '--credits', '10', '--key-name', 'setup'], {
      env: { ...process.env, ...product.environment },
    });
    api = spawn(process.execPath, [join(ROOT, 'api', 'main.ts')], {
      stdio: 'ignore',
      env: {
        ...product.environment,
        HOST: '127.0.0.1',
        PORT: String(port),
        METRICS_PORT: String(probes),
        PUBLIC_BASE_URL: url,
        OIDC_ISSUER: provider.issuer,
        OIDC_CLIENT_ID: provider.clientId,
        OIDC_CLIENT_SECRET: provider.clientSecret,
        OIDC_EMAILS_VERIFIED: 'true',
        OIDC_ROLE_CLAIM: 'roles',
        OIDC_ROLE_MAPPING: JSON.stringify([{ value: 'Curbcut.Owner', organisation: 'company', role: 'owner' }]),
        LOCAL_PASSWORDS: 'false',
      },
    });
    const ready = () => fetch(`http://127.0.0.1:${probes}/readyz`).then(({ ok }) => ok, () => false); // prettier-ignore
    await eventually(ready, (ok) => ok, 120_000);
  });
  after(async () => {
    // `kill` answers false if it has ended, of which there is no other event.
    const ended = api?.kill('SIGTERM') && once(api, 'exit');
    await Promise.all([ended, provider?.close(), front?.close(), proxy?.close()]);
  });

  it('begins with a sign-in at the provider, whose app role makes an owner, who creates a key', async () => {
    const email = 'ann@company.example';
    provider.person = { sub: 'ann', email };
    provider.idToken = { email, preferred_username: 'ann@company.onmicrosoft.com', oid: 'o', tid: 't', roles: ['Curbcut.Owner'] };
    const browser = createClient(local);
    const start = (await browser.get('/dashboard/sign-in/oidc')).headers.get('location')!;
    const ended = await browser.get((await provider.signIn(start)).slice(url.length));
    expect(ended.headers.get('location')).to.equal('/dashboard');
    const csrf = tokenIn((await browser.get('/dashboard/account')).text);
    const headers = { 'Content-Type': 'application/json', 'X-CSRF-Token': csrf };
    const issued = await browser.request('POST', '/v1/api-keys', { headers, body: '{"name":"Laptop"}' });
    expect(issued.status, issued.text).to.equal(201);
    const { key } = JSON.parse(issued.text) as { key: string };
    Object.assign(environment, { CURBCUT_URL: url, CURBCUT_API_KEY: key, HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: authority });
  });

  it('goes on with a scan from the command line, through the proxy', async () => {
    const args = ['scan', product.demoUrl, '--max-pages', '1', '--export', join(product.dir, 'company.json')];
    const { stdout, stderr } = await run(join(ROOT, 'bin', 'curbcut'), args, { env: { ...BASE, ...environment } });
    expect(stdout + stderr).to.include(`${url}/dashboard/scans/`);
    expect(proxy.asked).to.include(`CONNECT ${HOST}:${front.port}`);
  });

  it('ends with the events of another scan, which the npm package eventsource follows to the end', async () => {
    const env = { ...BASE, ...environment, SITE: product.demoUrl };
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', FOLLOW], { env, cwd: ROOT });
    const { events, statuses } = JSON.parse(stdout) as { events: string[]; statuses: number[] };
    expect([events.at(-1), events.filter((one) => one === 'complete').length, statuses]).to.deep.equal(['complete', 1, [200, 204]]);
  });
});
