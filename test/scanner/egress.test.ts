/** No page reaches an address that the target rules forbid: an internal server counts every attempt. */
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { request as httpRequest } from 'node:http';
import { createSocket } from 'node:dgram';
import { expect } from 'chai';
import { createGuardedFetch } from '../../scanner-image/egress/fetch.ts';
import { openEgress, type Egress } from '../../scanner-image/egress/proxy.ts';
import { findChromium, launchChromium } from '../../scanner-image/browser/chromium.ts';
import { html, machine, openSite, redirect, scan, type Site } from './site.ts';
import { silentLogger } from '../support/silent-logger.ts';

/** An internal server that must never be reached. It counts connections and datagrams. */
async function internal(): Promise<{ port: number; hits(): number; close(): Promise<void> }> {
  let hits = 0;
  const tcp = createTcpServer((socket) => {
    hits += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket('udp4', () => (hits += 1));
  await new Promise<void>((resolve) => udp.bind(port, '127.0.0.1', resolve));
  return {
    port,
    hits: () => hits,
    close: async () => {
      await new Promise<void>((resolve) => udp.close(() => resolve()));
      await new Promise((resolve) => tcp.close(resolve));
    },
  };
}

describe('egress of a scan', () => {
  let site: Site;
  let secret: Awaited<ReturnType<typeof internal>>;
  beforeEach(async () => (secret = await internal()));
  afterEach(async () => {
    await site.close();
    await secret.close();
  });

  it('does not reach forbidden addresses from a hostile page', async () => {
    const at = `127.0.0.1:${secret.port}`;
    const attempts = `
      const at = '${at}', port = ${secret.port};
      for (const host of [at, 'localhost:' + port, 'x.localhost:' + port, '2130706433:' + port, '0x7f.1:' + port, '[::1]:' + port, '[::ffff:127.0.0.1]:' + port, 'rebind.test:' + port, '169.254.169.254', 'metadata.google.internal']) {
        fetch('http://' + host + '/fetch', { mode: 'no-cors' }).catch(() => 0);
        new Image().src = 'http://' + host + '/image';
        try { new WebSocket('ws://' + host + '/socket'); } catch {}
        try { new EventSource('http://' + host + '/events'); } catch {}
        navigator.sendBeacon('http://' + host + '/beacon', 'x');
        const frame = document.createElement('iframe'); frame.src = 'http://' + host + '/frame'; frame.title = 'f'; document.body.append(frame);
        for (const rel of ['preconnect', 'dns-prefetch', 'prefetch', 'stylesheet', 'modulepreload']) { const link = document.createElement('link'); link.rel = rel; link.href = 'http://' + host + '/' + rel; document.head.append(link); }
      }
      fetch('/redirect').catch(() => 0); new Image().src = '/redirect';
      open('http://' + at + '/popup'); open('file:///etc/passwd'); open('view-source:http://' + at + '/');
      const rtc = new RTCPeerConnection({ iceServers: [{ urls: 'stun:' + at }, { urls: 'turn:' + at, username: 'a', credential: 'b' }, { urls: 'turn:' + at + '?transport=tcp', username: 'a', credential: 'b' }] });
      rtc.createDataChannel('x'); rtc.createOffer().then((offer) => rtc.setLocalDescription(offer));
      new Worker(URL.createObjectURL(new Blob(['fetch("http://${at}/worker", { mode: "no-cors" }).catch(() => 0)'])));
      const form = document.createElement('form'); form.action = 'http://' + at + '/form'; form.target = 'aside'; document.body.append(form); form.submit();`;
    site = await openSite({
      '/': html(
        `<a href="/away">away</a><a href="file:///etc/passwd">file</a><a href="view-source:http://${at}/">source</a><a href="http://${at}/link">link</a><script>${attempts}</script>`,
      ),
      '/redirect': redirect(`http://${at}/redirected`),
      '/away': redirect(`http://${at}/away`),
      '/robots.txt': (_request, response) => response.end(`Sitemap: http://${at}/sitemap.xml\nSitemap: ${'/redirect'}\n`),
    });
    const { pages } = await scan(
      `http://site.test:${site.port}/`,
      {},
      // Only the site itself is allowed, by host and port. Everything else on loopback is private.
      { allowTargets: [`site.test:${site.port}`] },
      {
        resolver: {
          resolve: (name) =>
            Promise.resolve(
              ['rebind.test', 'site.test'].includes(name) ? { ok: true, addresses: ['127.0.0.1'] } : { ok: false, reason: 'not_found' },
            ),
        },
      },
    );
    expect(pages.map(({ url, tested }) => [new URL(url).pathname, tested])).to.deep.equal([
      ['/', true],
      ['/away', false],
    ]);
    expect(pages[1]).to.include({ reason: 'redirected_away' });
    expect(secret.hits()).to.equal(0);
  });

  it('reaches the internal server if loopback is allowed', async () => {
    // Proves that the internal server counts: otherwise the test above could not fail.
    const at = `127.0.0.1:${secret.port}`;
    site = await openSite({ '/': html(`<img alt="" src="http://${at}/image">`) });
    await scan(`${site.origin}/`, { maxPages: 1 });
    expect(secret.hits()).to.be.greaterThan(0);
  });

  it('judges a name again before its new address is dialled', async () => {
    site = await openSite({ '/': html('') });
    const answers = [['93.184.216.34'], ['127.0.0.1']];
    const egress = await openEgress({
      rules: { allow: [], deny: [] },
      log: silentLogger,
      resolver: { resolve: () => Promise.resolve({ ok: true, addresses: answers.shift() ?? ['127.0.0.1'] }) },
    });
    try {
      const url = new URL(`http://rebind.test:${secret.port}/`);
      expect(await egress.judge(url)).to.deep.equal({ ok: true, addresses: ['93.184.216.34'] });
      expect(await egress.judge(url)).to.deep.equal({ ok: true, addresses: ['93.184.216.34'] });
      expect(await egress.judge(new URL(`http://rebind.test:${secret.port + 1}/`))).to.include({ ok: false, reason: 'private_address' });
    } finally {
      await egress.close();
    }
  });
});

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

  it('repeats a safe request that hit a closed keep-alive connection, and sends a POST once', async () => {
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

  it('does not repeat a request if a new connection is closed', async () => {
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
    const secret = await internal();
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
      expect(await get('/large')).to.include('larger than 1000 bytes');
      expect(await get('/round')).to.include('more than 5 times');
      expect(await get('/slow')).to.include('fetching failed');
    } finally {
      await files.close();
      await secret.close();
    }
  });
});

describe('browser', () => {
  it('is found by CHROMIUM_PATH first; the error says what to install', () => {
    expect(findChromium({ chromiumPath: '/opt/chromium', path: '' })).to.equal('/opt/chromium');
    expect(() => findChromium({ path: '/nowhere' })).to.throw('CHROMIUM_PATH');
  });

  it('sends all connections through the proxy, loopback too', async () => {
    const secret = await internal();
    const egress = await openEgress({ rules: { allow: [], deny: [] }, log: silentLogger });
    const browser = await launchChromium(machine, egress.url, silentLogger);
    try {
      const page = await browser.newPage();
      const response = await page.goto(`http://127.0.0.1:${secret.port}/`);
      expect(response?.status()).to.equal(403);
      expect(secret.hits()).to.equal(0);
    } finally {
      await browser.close();
      await egress.close();
      await secret.close();
    }
  });
});
