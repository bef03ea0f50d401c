import { request as httpRequest } from 'node:http';
import { expect } from 'chai';
import { createGuardedFetch } from '../../scanner-image/egress/fetch.ts';
import { openEgress, type Egress } from '../../scanner-image/egress/proxy.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { openInternalServer } from './internal-server.ts';
import { html, openSite, redirect, type Site } from './site.ts';

describe('egress proxy', () => {
  let egress: Egress;
  let site: Site;
  afterEach(async () => {
    await egress.close();
    await site.close();
  });
  const through = (
    url: string,
    headers: Record<string, string> = {},
    posted?: string,
  ): Promise<{ status: number; headers: Record<string, unknown>; body: string }> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(egress.url);
      const sent = httpRequest(
        { hostname, port, path: url, headers, agent: false, method: posted === undefined ? 'GET' : 'POST' },
        (response) => {
          let body = '';
          response.on('data', (chunk: Buffer) => (body += chunk.toString()));
          response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
          response.on('error', reject);
        },
      );
      sent.on('error', reject);
      sent.end(posted);
    });
  const connect = (target: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(egress.url);
      const sent = httpRequest({ hostname, port, method: 'CONNECT', path: target, agent: false });
      sent.on('connect', (response, socket) => {
        socket.destroy();
        resolve(response.statusCode ?? 0);
      });
      sent.on('response', (response) => resolve(response.statusCode ?? 0));
      sent.on('error', reject);
      sent.end();
    });

  it('forwards requests without hop-by-hop headers, and drops its own header from responses of the site', async () => {
    let seen: Record<string, unknown> = {};
    site = await openSite({
      '/': (request, response) => {
        seen = request.headers;
        response.writeHead(200, { 'x-curbcut-egress': 'refused', connection: 'x-hop', 'x-hop': '1', 'x-kept': '2' }).end('hello');
      },
    });
    egress = await openEgress({ rules: { allow: ['127.0.0.1'], deny: [] }, log: silentLogger });
    const response = await through(`${site.origin}/`, {
      'proxy-connection': 'keep-alive',
      'proxy-authorization': 'x',
      host: 'evil.test',
      'x-mine': '1',
    });
    expect(response).to.deep.include({ status: 200, body: 'hello' });
    expect(response.headers).to.include({ 'x-kept': '2' }).and.not.have.any.keys('x-curbcut-egress', 'x-hop');
    expect(seen)
      .to.include({ host: `127.0.0.1:${site.port}`, 'x-mine': '1' })
      .and.not.have.any.keys('proxy-connection', 'proxy-authorization');
  });

  it('reuses connections to a site', async () => {
    const ports = new Set<number | undefined>();
    site = await openSite({
      '/': (request, response) => {
        ports.add(request.socket.remotePort);
        response.end('x'.repeat(100_000));
      },
    });
    egress = await openEgress({ rules: { allow: ['127.0.0.1'], deny: [] }, log: silentLogger });
    for (let at = 0; at < 5; at++) expect((await through(`${site.origin}/`)).body).to.have.length(100_000);
    expect(ports.size).to.equal(1);
  });

  it('retries a safe request on a closed keep-alive connection, but not a POST', async () => {
    const served = new WeakSet();
    const bodies: string[] = [];
    let cut = 0;
    site = await openSite({
      '/': (request, response) => {
        // Acts like a site whose keep-alive timeout ends at this moment.
        if (served.has(request.socket)) {
          cut += 1;
          return void request.socket.destroy();
        }
        served.add(request.socket);
        let body = '';
        request.on('data', (chunk: Buffer) => (body += chunk.toString()));
        request.on('end', () => {
          bodies.push(body);
          response.end('served');
        });
      },
    });
    egress = await openEgress({ rules: { allow: ['127.0.0.1'], deny: [] }, log: silentLogger });
    for (let at = 0; at < 3; at++) expect(await through(`${site.origin}/`)).to.include({ status: 200, body: 'served' });
    expect(cut).to.be.greaterThan(0);
    const before = cut;
    for (const body of ['one', 'two']) expect(await through(`${site.origin}/`, {}, body)).to.include({ status: 200, body: 'served' });
    expect(bodies.slice(-2)).to.deep.equal(['one', 'two']);
    expect(cut).to.equal(before);
  });

  it('does not retry a request if a new connection is closed', async () => {
    let asked = 0;
    site = await openSite({
      '/': (request) => {
        asked += 1;
        request.socket.destroy();
      },
    });
    egress = await openEgress({ rules: { allow: ['127.0.0.1'], deny: [] }, log: silentLogger });
    expect((await through(`${site.origin}/`)).status).to.equal(502);
    expect(asked).to.equal(1);
  });

  it('denies by default, and records the reason', async () => {
    site = await openSite({ '/': html('') });
    egress = await openEgress({
      rules: { allow: [], deny: ['203.0.113.0/24'] },
      log: silentLogger,
      resolver: { resolve: () => Promise.resolve({ ok: true, addresses: ['203.0.113.9'] }) },
    });
    const response = await through(`${site.origin}/`);
    expect(response.status).to.equal(403);
    expect(response.headers['x-curbcut-egress']).to.equal('refused');
    expect(await connect(`127.0.0.1:${site.port}`)).to.equal(403);
    expect(await connect('cluster.example.com:443')).to.equal(403);
    expect(await connect('example.com:25')).to.equal(403);
    expect(await connect('example.com')).to.equal(400);
    expect(await connect('user@example.com:443')).to.equal(400);
    expect((await through('/')).status).to.equal(400);
    expect((await through('ftp://example.com/')).status).to.equal(400);
    expect(site.requests).to.deep.equal([]);
    for (const url of [site.origin, 'https://cluster.example.com/', 'http://example.com:25/'])
      expect(egress.failureOf(new URL(url)), url).to.include({ kind: 'refused' });
    expect(egress.failureOf(new URL('http://example.com/'))).to.equal(undefined);
  });

  it('distinguishes unreachable hosts from forbidden ones', async () => {
    site = await openSite({});
    const { port } = site;
    await site.close();
    egress = await openEgress({
      rules: { allow: ['127.0.0.1'], deny: [] },
      log: silentLogger,
      resolver: { resolve: () => Promise.resolve({ ok: false, reason: 'not_found' }) },
    });
    expect((await through(`http://127.0.0.1:${port}/`)).status).to.equal(502);
    expect(await connect(`127.0.0.1:${port}`)).to.equal(502);
    expect(egress.failureOf(new URL(`http://127.0.0.1:${port}/`))).to.include({ kind: 'unreachable' });
    expect((await through('http://nowhere.example/')).headers['x-curbcut-egress']).to.equal('unresolvable');
    site = await openSite({});
  });

  it('ends a response that exceeds the limit', async () => {
    site = await openSite({ '/': (_request, response) => void response.end(Buffer.alloc(200_000)) });
    egress = await openEgress({ rules: { allow: ['127.0.0.1'], deny: [] }, log: silentLogger, limits: { responseBytes: 100_000 } });
    const error: unknown = await through(`${site.origin}/`).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(Error);
    expect(egress.failureOf(new URL(site.origin))).to.include({ kind: 'cut' });
  });

  it('fetches files within limits, and judges every redirect', async () => {
    const secret = await openInternalServer();
    site = await openSite({
      '/ok': redirect('/file'),
      '/file': (_request, response) => void response.end('text'),
      '/inside': redirect(`http://10.0.0.1:${secret.port}/`),
      '/large': (_request, response) => void response.end('x'.repeat(5000)),
      '/round': redirect('/round'),
      '/slow': () => undefined,
    });
    egress = await openEgress({ rules: { allow: ['127.0.0.1'], deny: [] }, log: silentLogger });
    const files = createGuardedFetch(egress, 'test');
    const get = (path: string): Promise<unknown> =>
      files.get(new URL(path, site.origin), { maxBytes: 1000, timeoutMs: 2000 }).then(
        ({ url, status, body }) => `${url.pathname} ${status} ${Buffer.from(body).toString()}`,
        (error: Error) => error.message,
      );
    try {
      expect(await get('/ok')).to.equal('/file 200 text');
      expect(await get('/inside'))
        .to.include('10.0.0.1')
        .and.to.include('private');
      expect(await get('/large')).to.equal(`/large 200 ${'x'.repeat(1000)}`);
      expect(await get('/round')).to.include('more than 5 times');
      expect(await get('/slow')).to.include('did not send the whole file within 2 s');
    } finally {
      await files.close();
      await secret.close();
    }
  });

  it('of files tells the errors of its consumer, a server that is down, and its end from other failures', async () => {
    const closed = await openSite({});
    await closed.close();
    site = await openSite({ '/file': (_request, response) => void response.end('text'), '/hangs': () => undefined });
    egress = await openEgress({ rules: { allow: ['127.0.0.1'], deny: [] }, log: silentLogger });
    const ended = new AbortController();
    const files = createGuardedFetch(egress, 'test', ended.signal);
    const get = (url: string, consume?: () => Promise<void>): Promise<unknown> =>
      files.get(new URL(url), { maxBytes: 1000, timeoutMs: 20_000, consume }).catch((error: unknown) => error);
    try {
      const mistake = new TypeError('a mistake');
      expect(await get(`${site.origin}/file`, () => Promise.reject(mistake))).to.equal(mistake);
      expect(await get(`${closed.origin}/`)).to.include({ name: 'FetchRefused', kind: 'unreachable' });
      expect(await get('http://10.0.0.1/')).to.include({ name: 'FetchRefused', kind: 'refused' });
      const reason = new Error('the end');
      const hanging = get(`${site.origin}/hangs`);
      while (site.hits('/hangs') === 0) await new Promise((resolve) => setImmediate(resolve));
      ended.abort(reason);
      expect(await hanging).to.equal(reason);
      expect(await get(`${site.origin}/file`)).to.equal(reason);
    } finally {
      await files.close();
    }
  });
});
