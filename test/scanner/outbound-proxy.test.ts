/** Scans behind another HTTP proxy: the address rules stay those of the scanner. */
import { expect } from 'chai';
import type { Resolver } from '../../core/scan/targets.ts';
import { createFakeLogger } from '../support/fake-logger.ts';
import { startProxy, type TestProxy } from '../support/http-proxy.ts';
import { createAuthority, startTlsFront } from '../support/private-authority.ts';
import { failureOf, html, openSite, scan, testedOf, untested, type Site } from './site.ts';

/** A public address that nothing answers at. Only the proxy knows where the names really are. */
const resolver: Resolver = {
  resolve: (hostname) => Promise.resolve({ ok: true, addresses: [hostname.startsWith('inside') ? '10.0.0.1' : '203.0.114.7'] }),
};

describe('scans behind an outbound proxy', () => {
  let proxy: TestProxy;
  let site: Site;
  beforeEach(async () => {
    proxy = await startProxy();
    site = await openSite({ '/': html('<a href="/two">two</a>'), '/two': html('<img src="/x.png" alt="">') });
  });
  afterEach(async () => {
    await proxy.close();
    await site.close();
  });
  const logger = createFakeLogger();
  const through = (url: string, over: object = {}, noProxy = '') =>
    scan(url, {}, { allowTargets: [], proxy: { url: proxy.url, noProxy }, ...over }, { resolver, log: logger });
  const messageOf = async (...args: Parameters<typeof through>) => (await failureOf(through(...args))).message;

  it('ask it for plain HTTP by the whole address, and for TLS by the name of the host', async () => {
    const origin = `http://site.example:${site.port}`;
    const { pages } = await through(`${origin}/`);
    expect(testedOf(pages).map(({ url }) => url)).to.have.members([`${origin}/`, `${origin}/two`]);
    // The files are tunnelled, whatever their scheme.
    expect(proxy.asked).to.include.members([`GET ${origin}/`, `GET ${origin}/two`]);

    const authority = createAuthority('Sites');
    const front = await startTlsFront(site.port, authority.issue(['site.example']));
    try {
      const secure = await through(`https://site.example:${front.port}/`, { siteCa: authority.bundle });
      expect(testedOf(secure.pages)).to.have.length(2);
      expect(proxy.asked).to.include(`CONNECT site.example:${front.port}`);
    } finally {
      await front.close();
    }
  });

  it('never ask it for an address that the rules forbid', async () => {
    expect(await messageOf('http://inside.example/')).to.include('inside.example resolves to a private');
    expect(await messageOf('http://10.0.0.1/')).to.include('10.0.0.1 is a private');
    expect(await messageOf('https://169.254.169.254/')).to.include('private');
    expect(proxy.asked).to.deep.equal([]);
  });

  it('reach hosts of NO_PROXY directly', async () => {
    const { pages } = await through(`${site.origin}/`, { allowTargets: ['127.0.0.0/8'] }, '.example,127.0.0.1');
    expect(testedOf(pages)).to.have.length(2);
    expect(proxy.asked).to.deep.equal([]);
  });

  it('report that it refuses a host, or the credentials, which are in no log', async () => {
    proxy.refused.add('refused.example');
    for (const scheme of ['http', 'https'])
      expect(await messageOf(`${scheme}://refused.example/`)).to.include('the outbound proxy answered with status 403');
    proxy.accept('another');
    for (const scheme of ['http', 'https'])
      expect(await messageOf(`${scheme}://site.example:${site.port}/`)).to.include(
        'the outbound proxy refuses the credentials of this installation (status 407)',
      );
    await proxy.close();
    expect(await messageOf('https://site.example/')).to.include('the outbound proxy or the host did not answer (ECONNREFUSED)');
    expect(JSON.stringify(logger.lines)).not.to.include('hush');
    proxy = await startProxy();
  });

  it('report an error of a site as such, also if a proxy in front of the site marks it', async () => {
    await site.close();
    site = await openSite({
      '/': (_, response) => response.writeHead(503, { via: '1.1 cache.site', 'x-squid-error': 'ERR_CONNECT_FAIL 111' }).end(),
    });
    expect(await messageOf(`http://site.example:${site.port}/`))
      .to.include('503')
      .and.not.include('proxy');
  });

  it('do not test a page that the proxy refuses', async () => {
    await site.close();
    site = await openSite({
      '/': html('<a href="https://site.example:1/other">other</a><iframe title="f" src="https://refused.example/"></iframe>'),
    });
    proxy.refused.add('refused.example');
    const { pages } = await through(`http://site.example:${site.port}/`);
    expect(testedOf(pages)).to.have.length(1);
    expect(() => untested(pages, '/other')).to.throw('not in the scan');
    expect(proxy.asked).to.include('CONNECT refused.example:443');
  });
});
