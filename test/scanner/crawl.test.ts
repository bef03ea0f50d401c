/** Which pages a scan finds, in which order, and that it loads each page once. */
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { countPages } from '../../report/results/score.ts';
import type { PageProgress } from '../../core/scan/counts.ts';
import { answer, failureOf, file, html, openSite, paths, redirect, scan, testedOf, untested, type Route, type Site } from './site.ts';

const links = (...to: string[]): string => html(to.map((href) => `<p><a href="${href}">to ${href}</a></p>`).join(''), { title: to.join() });

/** A page that is the same at every address. */
const sameHtml = (...page: Parameters<typeof html>): Route => file('text/html', html(...page));

describe('crawl', () => {
  let site: Site;
  const open = async (routes: Record<string, Route>): Promise<Site> => (site = await openSite(routes));
  afterEach(() => site.close());

  it('visits pages breadth first, in the order of links, and loads each page once', async () => {
    await open({
      '/': links('/b', '/a', 'https://elsewhere.test/', 'mailto:a@b.test'),
      '/a': links('/a1', '/', '/b'),
      '/b': links('/b1', '/b2'),
      '/a1': links(),
      '/b1': links('/deep'),
      '/b2': links(),
      '/deep': links(),
    });
    const { pages } = await scan(`${site.origin}/`);
    expect(paths(pages)).to.deep.equal(['/', '/b', '/a', '/b1', '/b2', '/a1', '/deep']);
    for (const path of paths(pages)) expect(site.hits(path), path).to.equal(1);
  });

  it('says for each untested page which three pages link to it, or which sitemap', async () => {
    const urls = ['/only-in-sitemap', '/gone', '/skip/me'];
    const later =
      (page: string, delay: number): Route =>
      (_request, response) =>
        void setTimeout(() => response.writeHead(200, { 'content-type': 'text/html' }).end(page), delay);
    await open({
      '/sitemap.xml': (_request, response) =>
        response.end(`<urlset>${urls.map((path) => `<url><loc>${site.origin}${path}</loc></url>`).join('')}</urlset>`),
      '/': links('/a', '/b', '/c', '/d', '/skip/a'),
      '/a': later(links('/gone', '/skip/a'), 120),
      '/b': later(links('/b2', '/gone', '/gone#part'), 60),
      '/c': later(links('/c2', '/gone'), 30),
      '/d': links('/d2', '/gone', '/skip/me'),
      '/b2': links('/late'),
      '/c2': html('', { title: 'c2' }),
      '/d2': html('', { title: 'd2' }),
    });
    const crawl = { include: [], exclude: ['/skip/*'], sitemap: true, respectRobots: true, waitFor: '', settleMs: 0 };
    const { pages } = await scan(`${site.origin}/`, { crawl, maxPages: 20 }, { workers: 4 });
    const linkedFrom = pages.flatMap((page) => (page.tested ? [] : [[new URL(page.url).pathname, page.linked_from]]));
    expect(Object.fromEntries(linkedFrom)).to.deep.equal({
      '/gone': [`${site.origin}/a`, `${site.origin}/b`, `${site.origin}/c`],
      '/only-in-sitemap': [`${site.origin}/sitemap.xml`],
      '/late': [`${site.origin}/b2`],
      '/skip/a': [`${site.origin}/`, `${site.origin}/a`],
      '/skip/me': [`${site.origin}/d`],
    });
  });

  it('loads other pages while one waits for its site, with one worker too', async () => {
    const send = (response: ServerResponse, title: string): void =>
      void response.writeHead(200, { 'content-type': 'text/html' }).end(html(title, { title }));
    let slow: ServerResponse | undefined;
    const other: Route = ({ url }, response) => {
      send(response, `Page ${url}`);
      if (slow !== undefined && site.hits('/a') > 0 && site.hits('/b') > 0) send(slow, 'Slow page');
    };
    await open({ '/': links('/slow', '/a', '/b'), '/slow': (_request, response) => void (slow = response), '/a': other, '/b': other });
    // If no other page was loaded meanwhile, the slow one would time out.
    const { pages } = await scan(`${site.origin}/`, {}, { workers: 1, pageBudgetMs: 10_000 });
    expect(paths(testedOf(pages))).to.deep.equal(['/', '/slow', '/a', '/b']);
  });

  it('tests duplicates once, and lists what was loaded to find them', async () => {
    await open({
      '/': links(
        '/a#x',
        '/a?utm_source=mail&gclid=1',
        '/a/',
        '/moved',
        '/q?b=2&a=1',
        '/q?a=1&b=2',
        '/view?sort=up',
        '/view?sort=down',
        '/print',
        '/original',
      ),
      '/a': links('#top'),
      '/moved': redirect('/a', 301),
      '/q': html('query'),
      '/view': sameHtml('list', { head: '<link rel="canonical" href="/view">', title: 'View' }),
      '/print': sameHtml('same', { head: '<link rel="canonical" href="/original">', title: 'Original' }),
      '/original': sameHtml('same', { title: 'Original' }),
    });
    const { pages } = await scan(`${site.origin}/`);
    expect(pages.map((page) => `${paths([page])[0]} ${page.tested ? 'tested' : page.reason}`)).to.deep.equal([
      '/ tested',
      '/a tested',
      '/moved same_as',
      '/q?b=2&a=1 tested',
      '/view?sort=up tested',
      '/view?sort=down same_as',
      '/print tested',
      '/original same_as',
    ]);
  });

  it('obeys the group of its user agent in robots.txt, unless respectRobots is false', async () => {
    await open({
      '/robots.txt': file('text/plain', 'User-agent: *\nDisallow: /\n\nUser-agent: Curbcut\nDisallow: /private\nDisallow: /*?secret='),
      '/': links('/a', '/private/b', '/c?secret=1'),
      '/a': html(''),
      '/private/b': html(''),
      '/c': html(''),
    });
    const { pages } = await scan(`${site.origin}/`);
    expect(paths(testedOf(pages))).to.deep.equal(['/', '/a']);
    expect(untested(pages, '/private/b')).to.include({ reason: 'robots_disallowed', final_url: null, http_status: null });
    expect(untested(pages, '/private/b').message).to.include('disallows /private/b (line 5)');
    expect(untested(pages, '/c').reason).to.equal('robots_disallowed');
    expect(site.hits('/private/b')).to.equal(0);
    const crawl = { include: [], exclude: [], sitemap: false, respectRobots: false, waitFor: '', settleMs: 0 };
    expect(paths((await scan(`${site.origin}/`, { crawl })).pages)).to.deep.equal(['/', '/a', '/private/b', '/c?secret=1']);
  });

  it('lists a page that redirects to a disallowed one, and does not count it as attempted', async () => {
    await open({
      '/robots.txt': file('text/plain', 'User-agent: *\nDisallow: /private'),
      '/': links('/moved', '/gone'),
      '/moved': redirect('/private/a'),
      '/gone': answer(404),
      '/private/a': html(''),
    });
    let last: PageProgress | undefined;
    const { pages } = await scan(`${site.origin}/`, {}, {}, { onProgress: (_phase, counts) => (last = counts) });
    expect(pages.map((page) => (page.tested ? 'tested' : page.reason))).to.deep.equal(['tested', 'robots_disallowed', 'http_error']);
    expect(site.hits('/private/a')).to.equal(0);
    expect(countPages(pages)).to.deep.equal({ scanned: 1, failed: 1, total: 2 });
    expect(last).to.deep.equal({ scanned: 1, failed: 1, total: 2 });
  });

  it('fails if robots.txt disallows the first page, or responds with a server error', async () => {
    await open({ '/robots.txt': file('text/plain', 'User-agent: *\nDisallow: /'), '/': html('') });
    const error = await failureOf(scan(`${site.origin}/`));
    expect(error.reason).to.equal('robots_disallowed');
    expect(error.message).to.include('disallows / (line 2)').and.to.include('respectRobots');
    expect(site.hits('/')).to.equal(0);
    await site.close();
    await open({ '/robots.txt': answer(503), '/': html('') });
    expect((await failureOf(scan(`${site.origin}/`))).message).to.include('status 503');
  });

  it('reads sitemaps from robots.txt, indexes and gzip, counts files and other sites, and lists a sitemap that is missing', async () => {
    const self: { origin: string } = { origin: '' };
    const map = (...urls: string[]): string =>
      `<?xml version="1.0"?><urlset xmlns="x">${urls.map((url) => `<url><loc>${url}</loc></url>`).join('')}</urlset>`;
    await open({
      '/robots.txt': (_request, response) => response.end(`Sitemap: ${self.origin}/index.xml\nSitemap: /gone.xml\n`),
      '/index.xml': (_request, response) =>
        response.end(
          `<sitemapindex><sitemap><loc>${self.origin}/one.xml</loc></sitemap><sitemap><loc>/two.xml.gz</loc></sitemap></sitemapindex>`,
        ),
      '/one.xml': (_request, response) =>
        response.end(map(`${self.origin}/x?a=1&amp;b=2`, 'http://other.test/y', `${self.origin}/file.pdf`)),
      '/two.xml.gz': (_request, response) => response.end(gzipSync(map(`${self.origin}/z`, `${self.origin}/a`))),
      '/': links('/a'),
      '/a': html(''),
      '/x': html('', { title: 'x' }),
      '/z': html('', { title: 'z' }),
    });
    self.origin = site.origin;
    const { pages, discovery } = await scan(`${site.origin}/`);
    expect(paths(pages)).to.deep.equal(['/', '/a', '/x?a=1&b=2', '/z', '/gone.xml']);
    expect(discovery.documents).to.deep.equal([{ url: `${site.origin}/file.pdf`, type: 'pdf', linked_from: [`${site.origin}/one.xml`] }]);
    expect(discovery).to.deep.include({ files: 1, other_hosts: [{ host: 'other.test', links: 0, sitemap_entries: 1 }] });
    expect(untested(pages, '/gone.xml').message).to.include('status 404');
  });

  it('obeys include and exclude, and reads only the links of a first page that is not included', async () => {
    await open({
      '/': links('/docs/a', '/docs/old/b', '/blog'),
      '/docs/a': links('/docs/c'),
      '/docs/c': html(''),
      '/docs/old/b': html(''),
      '/blog': html(''),
    });
    const crawl = { include: ['/docs/**'], exclude: ['/docs/old/*'], sitemap: false, respectRobots: true, waitFor: '', settleMs: 0 };
    const { pages } = await scan(`${site.origin}/`, { crawl });
    expect(paths(testedOf(pages))).to.deep.equal(['/docs/a', '/docs/c']);
    expect(paths(pages)).to.deep.equal(['/', '/docs/a', '/docs/c', '/docs/old/b', '/blog']);
    for (const path of ['/', '/docs/old/b', '/blog']) expect(untested(pages, path).reason, path).to.equal('excluded');
    expect(site.hits('/blog')).to.equal(0);
    expect(countPages(pages)).to.deep.equal({ scanned: 2, failed: 0, total: 2 });
  });

  it('lists the pages of a sitemap that are not part of the scan, each once', async () => {
    const urls = ['/a', '/blog/1', '/private', '/blog/2', `/${'x'.repeat(2048)}`];
    await open({
      '/robots.txt': (_request, response) => response.end('User-agent: *\nDisallow: /private\n'),
      '/sitemap.xml': (_request, response) =>
        response.end(`<urlset>${urls.map((path) => `<url><loc>${site.origin}${path}</loc></url>`).join('')}</urlset>`),
      '/': links('/blog/2'),
      '/a': html('', { title: 'a' }),
    });
    const crawl = { include: [], exclude: ['/blog/*'], sitemap: true, respectRobots: true, waitFor: '', settleMs: 0 };
    const { pages, addressesLeft } = await scan(`${site.origin}/`, { crawl });
    expect(paths(pages)).to.deep.equal(['/', '/a', '/blog/2', '/blog/1', '/private']);
    expect(untested(pages, '/blog/1').reason).to.equal('excluded');
    expect(untested(pages, '/private').reason).to.equal('robots_disallowed');
    // The one that is too long.
    expect(addressesLeft).to.equal(1);
  });

  it('fails if no page matches include and exclude, and says so', async () => {
    await open({ '/': links('/a'), '/a': html('') });
    const crawl = { include: ['/docs/**'], exclude: [], sitemap: false, respectRobots: true, waitFor: '', settleMs: 0 };
    const error = await failureOf(scan(`${site.origin}/`, { crawl }));
    expect(error.reason).to.equal('no_page_tested');
    expect(error.message).to.include('No page of the site matches the include and exclude rules.');
    expect(site.hits('/a')).to.equal(0);
  });

  it('obeys the crawl delay of robots.txt', async () => {
    const seconds = 1;
    const times: number[] = [];
    const timed =
      (type: string, body: string): Route =>
      (_request, response) => {
        times.push(performance.now());
        response.writeHead(200, { 'content-type': type }).end(body);
      };
    await open({
      '/robots.txt': timed('text/plain', `User-agent: *\nCrawl-delay: ${seconds}`),
      '/': timed('text/html', links('/a')),
      '/a': timed('text/html', html('a')),
    });
    await scan(`${site.origin}/`, {}, { workers: 2 });
    expect(times).to.have.length(3);
    // From robots.txt on, which is read before the first page: the request of a page may arrive late, but never early.
    expect(times.at(-1)! - times[0]!).to.be.at.least(seconds * 1000 - 10);
  });
});
