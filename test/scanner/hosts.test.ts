/** Further hosts of a site: which pages of them are tested, and what they must not get. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { GivenOptions } from '../../core/scan/options.ts';
import type { ScanDeps } from '../../scanner-image/scan.ts';
import { answer, FAULT, file, html, redirect, scan, signInOf, testedOf, type Route } from './site.ts';

/** Names of this machine, but for one on a private network. */
const resolver: ScanDeps['resolver'] = {
  resolve: (name) => Promise.resolve({ ok: true, addresses: [name === 'private.site.test' ? '10.0.0.1' : '127.0.0.1'] }),
};
const link = (...to: string[]): string => to.map((href) => `<p><a href="${href}">to ${href}</a></p>`).join('');

const shopOf = ({ headers }: IncomingMessage): string => `http://${headers.host!.replace('www', 'shop')}`;
const toShop: Route = (request, response) => response.writeHead(302, { location: `${shopOf(request)}/b` }).end();

describe('further hosts of a scan', () => {
  let close = (): void => undefined;
  afterEach(() => close());

  /** Serves routes by the first label of the host, below `site.test`. `$name` in a page is the origin of another host. */
  async function open(hosts: Record<string, Record<string, Route>>) {
    const requests: string[] = [];
    const credentials: string[] = [];
    const server = createServer((request, response) => {
      const { host = '', cookie, authorization } = request.headers;
      const [name] = host.split('.');
      requests.push(name + request.url!);
      if (cookie !== undefined || authorization !== undefined) credentials.push(name + request.url!);
      const route = hosts[name!]?.[request.url!] ?? answer(404);
      if (typeof route !== 'string') return route(request, response);
      const body = route
        .replace(/\$(\w+)/g, (_, other: string) => `http://${other}.site.test:${port}`)
        .replace('Heading', name + request.url!);
      response.writeHead(200, { 'content-type': 'text/html' }).end(body);
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    close = () => void server.close().closeAllConnections();
    const origin = `http://www.site.test:${port}`;
    const scanHosts = async (names: string[], options: Partial<GivenOptions> = {}, deps: Partial<ScanDeps> = {}) => {
      const crawl = { ...options.crawl, hosts: names.map((name) => `${name}.site.test:${port}`) };
      const result = await scan(`${origin}/`, { ...options, crawl }, { workers: 3 }, { resolver, ...deps });
      const nameOf = (url: string): string => url.replace(/^http:\/\/(\w+)\.site\.test:\d+/, '$1');
      const all = result.pages.map((page) => `${nameOf(page.url)} ${page.tested ? 'tested' : page.reason}`);
      return {
        ...result,
        all,
        tested: testedOf(result.pages)
          .map(({ url }) => nameOf(url))
          .sort(),
      };
    };
    return { port, origin, requests, credentials, scanHosts };
  }

  it('are tested where links and sitemaps name them, also through redirects, and listed by their address', async () => {
    const { scanHosts, requests } = await open({
      www: {
        '/': html(link('$shop/a', '$blog/', '/moved', '$other/')),
        '/moved': toShop,
        '/sitemap.xml': (request, response) => response.end(`${shopOf(request)}/listed\n`),
      },
      shop: { '/a': html(`${link('/c', '$www/back')}${FAULT}`), '/b': html('b'), '/c': html('c'), '/listed': html('listed') },
      blog: { '/': html('blog') },
    });
    const { tested, all, pages, discovery } = await scanHosts(['shop', 'blok']);
    expect(tested).to.deep.equal(['shop/a', 'shop/b', 'shop/c', 'shop/listed', 'www/']);
    expect(all).to.include.members(['www/moved excluded', 'www/back http_error']);
    expect(discovery.hosts_unnamed?.map((host) => host.split('.')[0])).to.deep.equal(['blok']);
    expect(discovery.other_hosts.map(({ host }) => host.split('.')[0])).to.have.members(['blog', 'other']);
    expect(requests.filter((request) => request.startsWith('blog'))).to.deep.equal([]);
    expect(pages.find(({ url }) => url.endsWith('/moved'))).to.include({ final_url: pages.find(({ url }) => url.endsWith('/b'))!.url });
  });

  it('have pages in a list of addresses, which is tested instead of what links and sitemaps name', async () => {
    const { scanHosts, requests, port } = await open({
      www: {
        '/': html(link('/linked')),
        '/b': html(`b${link('/linked')}`),
        '/out': html('out'),
        '/plan.pdf': file('application/pdf', '%PDF-'),
      },
      shop: { '/a': html('a') },
    });
    const urls = ['/b', `http://shop.site.test:${port}/a`, '/gone', '/plan.pdf', '/out', '/b/#top'];
    const { all, addressesLeft, discovery } = await scanHosts(['shop'], { maxPages: 9, crawl: { urls, exclude: ['/out'] } });
    expect(all).to.deep.equal([
      'www/ excluded',
      'www/b tested',
      'shop/a tested',
      'www/gone http_error',
      'www/plan.pdf document',
      'www/out excluded',
    ]);
    expect(addressesLeft).to.equal(0);
    expect(discovery).to.deep.include({ links: 0, other_hosts: [] }).and.not.have.property('hosts_unnamed');
    expect(requests).to.not.include.members(['www/linked']).and.not.include.members(['www/sitemap.xml']);
  });

  it('get neither the sign-in nor the prepared state, also by redirects', async () => {
    const { scanHosts, credentials, origin } = await open({
      www: {
        '/': html(link('/one', '$shop/a', '/moved')),
        '/one': html('One'),
        '/prepare': (_request, response) =>
          response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': 'all=1; Domain=site.test; Path=/' }).end(html('Prepared')),
        '/moved': toShop,
      },
      shop: { '/a': html(link('/c')), '/b': html('b'), '/c': html('c') },
    });
    const signIn = signInOf(origin, { username: 'user', password: 'password', cookie: 'member=12345678' });
    const { tested } = await scanHosts(['shop'], { crawl: { prepare: [{ goto: '/prepare' }] } }, { signIn });
    expect(tested).to.deep.equal(['shop/a', 'shop/b', 'shop/c', 'www/', 'www/one']);
    expect(credentials).to.include.members(['www/', 'www/one', 'www/moved']);
    expect(credentials.filter((request) => !request.startsWith('www'))).to.deep.equal([]);
  });

  it('have a robots.txt and a rate of their own', async () => {
    const limited = Object.fromEntries(['/1', '/2', '/3'].map((path) => [path, answer(429, { 'retry-after': '3600' })]));
    const { scanHosts, requests } = await open({
      www: {
        '/': html(link('/private', '$shop/private', '$shop/open', '$slow/1', '$slow/2', '$slow/3', '$down/a', '/last')),
        '/private': html('Mine'),
        '/last': html('Last'),
      },
      shop: { '/robots.txt': file('text/plain', 'User-agent: *\nDisallow: /private'), '/open': html('Open') },
      slow: limited,
      down: { '/robots.txt': answer(500), '/a': html('a') },
    });
    const { tested, all } = await scanHosts(['shop', 'slow', 'down']);
    expect(tested).to.deep.equal(['shop/open', 'www/', 'www/last', 'www/private']);
    expect(all).to.include.members(['shop/private robots_disallowed', 'slow/1 rate_limited', 'down/a navigation_failed']);
    expect(requests).to.include('shop/robots.txt').and.to.not.include('shop/private').and.to.not.include('down/a');
  });

  it('of a domain are judged one by one, by their addresses, and are at most 20', async () => {
    const many = Array.from({ length: 21 }, (_, at) => `h${at}`);
    const page = Object.fromEntries(many.map((name) => [name, { '/': html('Text') }]));
    const { scanHosts, requests } = await open({
      www: { '/': html(link('$private/', ...many.map((name) => `$${name}/`))), '/back': html('') },
      ...page,
      private: { '/': html('Secret') },
    });
    const { all, tested } = await scanHosts(['*'], { maxPages: 30 });
    expect(tested).to.have.length(20);
    expect(all).to.include('private/ refused').and.to.include('h20/ excluded');
    expect(requests.filter((request) => /^(?:private|h20)/.test(request))).to.deep.equal([]);
  });

  it('are that of a preview where its links, sitemaps and redirects name the production host', async () => {
    const live = 'https://www.town.example';
    const { scanHosts, requests } = await open({
      www: {
        '/': html(link(`${live}/a`, '/moved', '/itself')),
        '/a': html('a'),
        '/b': html('b'),
        '/c': html('c'),
        '/moved': redirect(`${live}/b`),
        '/itself': redirect(`${live}/itself`),
        '/robots.txt': file('text/plain', `Sitemap: ${live}/index.xml`),
        '/index.xml': file('text/xml', `<sitemapindex><sitemap><loc>${live}/map.xml</loc></sitemap></sitemapindex>`),
        '/map.xml': file('text/xml', `<urlset><url><loc>${live}/c</loc></url></urlset>`),
      },
    });
    const { all, discovery } = await scanHosts([], { crawl: { rewriteHost: 'www.town.example' } });
    expect(all.sort()).to.deep.equal([
      'www/ tested',
      'www/a tested',
      'www/b tested',
      'www/c tested',
      'www/itself redirected_away',
      'www/moved excluded',
    ]);
    expect(discovery).to.include({ links: 3, other_hosts_left: 0 }).and.to.have.property('other_hosts').with.length(0);
    expect(requests.filter((request) => request === 'www/itself')).to.have.length(1);
  });
});
