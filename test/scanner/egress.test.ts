/** Pages cannot reach addresses that the target rules forbid. An internal server counts the attempts. */
import { expect } from 'chai';
import { findChromium, launchChromium } from '../../scanner-image/browser/chromium.ts';
import { openEgress } from '../../scanner-image/egress/proxy.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { openInternalServer } from './internal-server.ts';
import { html, machine, openSite, redirect, scan, type Site } from './site.ts';

describe('egress of a scan', () => {
  let site: Site;
  let secret: Awaited<ReturnType<typeof openInternalServer>>;
  beforeEach(async () => (secret = await openInternalServer()));
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
    // Checks that the internal server counts attempts: otherwise the test above could never fail.
    const at = `127.0.0.1:${secret.port}`;
    site = await openSite({ '/': html(`<img alt="" src="http://${at}/image">`) });
    await scan(`${site.origin}/`, { maxPages: 1 });
    expect(secret.hits()).to.be.greaterThan(0);
  });

  it('judges a name again before it connects to a new address', async () => {
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

describe('browser', () => {
  it('is the one of CHROMIUM_PATH; if it is missing, the error names what to install', () => {
    expect(findChromium({ chromiumPath: '/opt/chromium', path: '' })).to.equal('/opt/chromium');
    expect(() => findChromium({ path: '/nowhere' })).to.throw('CHROMIUM_PATH');
  });

  it('opens all connections through the proxy, including loopback', async () => {
    const secret = await openInternalServer();
    const egress = await openEgress({ rules: { allow: [], deny: [] }, log: silentLogger });
    const browser = await launchChromium(machine, egress.url, silentLogger, ['en']);
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
