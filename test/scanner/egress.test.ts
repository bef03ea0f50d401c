/** Pages cannot reach addresses that the target rules forbid. An internal server counts the attempts. */
import { expect } from 'chai';
import { STATE_KINDS } from '../../core/scan/states.ts';
import type { ReportPage } from '../../report/schema/page.ts';
import { findChromium, launchChromium } from '../../scanner-image/page/browser/chromium.ts';
import { identityOf, openTarget } from '../../scanner-image/page/browser/target.ts';
import { openEgress } from '../../scanner-image/egress/proxy.ts';
import { nightly } from '../support/nightly.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { SECURE_INTERFACES, attemptsAt, hostileHeaders, hostileServiceWorker } from './hostile-attempts.ts';
import { openInternalServer } from './internal-server.ts';
import { file, html, machine, openSite, redirect, scan, type Site } from './site.ts';

describe('egress of a scan', () => {
  let site: Site;
  let secret: Awaited<ReturnType<typeof openInternalServer>>;
  beforeEach(async () => (secret = await openInternalServer()));
  afterEach(async () => {
    await site.close();
    await secret.close();
  });

  interface Tried {
    tried: string[];
    exist: string[];
    secure: boolean;
  }

  /** Scans a hostile site under a name. Only the site itself is allowed, by name and port: all else on loopback is private. */
  async function scanHostile(name: string): Promise<{ pages: ReportPage[]; tried: Tried }> {
    const at = `127.0.0.1:${secret.port}`;
    let tried: Tried | undefined;
    site = await openSite({
      '/': file(
        'text/html',
        html(
          `<a href="/away">away</a><a href="file:///etc/passwd">file</a><a href="view-source:http://${at}/">source</a><a href="http://${at}/link">link</a>${attemptsAt(secret.port)}`,
        ),
        hostileHeaders(secret.port),
      ),
      '/redirect': redirect(`http://${at}/redirected`),
      '/away': redirect(`http://${at}/away`),
      '/service-worker.js': hostileServiceWorker(secret.port),
      '/robots.txt': (_request, response) => response.end(`Sitemap: http://${at}/sitemap.xml\nSitemap: ${'/redirect'}\n`),
      '/_tried': (request, response) => {
        tried = JSON.parse(decodeURIComponent(request.url?.split('?')[1] ?? '')) as Tried;
        response.end();
      },
    });
    const { pages } = await scan(
      `http://${name}:${site.port}/`,
      { states: [...STATE_KINDS] },
      { allowTargets: [`${name}:${site.port}`], pageBudgetMs: 60_000 },
      {
        resolver: {
          resolve: (asked) =>
            Promise.resolve(
              ['rebind.test', name].includes(asked) ? { ok: true, addresses: ['127.0.0.1'] } : { ok: false, reason: 'not_found' },
            ),
        },
      },
    );
    if (tried === undefined) throw new Error('the page did not finish its attempts');
    return { pages, tried };
  }

  /** The last two are the sitemaps that robots.txt names. */
  const PAGES = [
    ['/', true],
    ['/away', false],
    ['/sitemap.xml', false],
    ['/redirect', false],
  ];

  // `localhost` is a secure origin, where more interfaces exist.
  for (const name of nightly(['localhost'], ['localhost', 'site.test']))
    it(`does not reach forbidden addresses from a hostile page of ${name}`, async () => {
      const { pages, tried } = await scanHostile(name);
      const isSecure = name === 'localhost';
      expect(tried.secure).to.equal(isSecure);
      if (isSecure) expect(tried.exist).to.have.members([...SECURE_INTERFACES]);
      expect(tried.tried).to.include.members(['WebSocket', 'EventSource', 'RTCPeerConnection']);
      if (isSecure) expect(tried.tried).to.include.members(['WebTransport', 'serviceWorker', 'fetchLater']);
      expect(pages.map(({ url, tested }) => [new URL(url).pathname, tested])).to.deep.equal(PAGES);
      expect(pages[1]).to.include({ reason: 'redirected_away' });
      for (const page of pages.slice(2))
        expect(page).to.have.property('message').that.includes('only publicly reachable hosts can be scanned');
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
      const { cdp } = await openTarget(browser, { identity: identityOf(browser.version(), '1.0.0', 'en') });
      const answered = new Promise<number>((resolve) => {
        cdp.on('Network.responseReceived', ({ type, response }) => type === 'Document' && resolve(response.status));
      });
      await cdp.send('Network.enable');
      await cdp.send('Page.navigate', { url: `http://127.0.0.1:${secret.port}/` });
      expect(await answered).to.equal(403);
      expect(secret.hits()).to.equal(0);
    } finally {
      await browser.close();
      await egress.close();
      await secret.close();
    }
  });
});
