/** Which addresses are the same page, and that every address that a scan meets is in its report. */
import { expect } from 'chai';
import { countPages } from '../../report/results/score.ts';
import { nightly } from '../support/nightly.ts';
import { file, found, html, openSite, paths, redirect, scan, testedOf, untested, type Route, type Site } from './site.ts';

const LINKS = nightly(2000, 10_000);
const anchors = (...to: string[]): string => to.map((href) => `<p><a href="${href}">to ${href}</a></p>`).join('');

describe('addresses of a scan', () => {
  let site: Site;
  const open = async (routes: Record<string, Route>): Promise<Site> => (site = await openSite(routes));
  afterEach(() => site.close());

  describe('with hash routes', () => {
    /** An application that displays a route when it is loaded, and never again. */
    const application = html(
      `${anchors('#/home', '#/settings', '#!news', '#top', '#!')}<div id="view"></div><script>
        const route = location.hash.replace(/^#!?\\/?/, '') || 'start';
        document.title = route;
        document.getElementById('view').innerHTML = '<p>This is ' + route + '</p>' + (route === 'start' ? '' : '<img src="data:," id="' + route + '">');
      </script>`,
    );

    it('are pages of their own, each loaded anew', async () => {
      await open({ '/': application });
      const { pages } = await scan(`${site.origin}/`);
      expect(paths(pages)).to.deep.equal(['/', '/#/home', '/#/settings', '/#!news']);
      expect(testedOf(pages).map(({ title }) => title)).to.deep.equal(['start', 'home', 'settings', 'news']);
      expect(pages.map(({ final_url }) => final_url)).to.deep.equal(pages.map(({ url }) => url));
      expect(pages.slice(1).map(found)).to.deep.equal([['image-alt #home'], ['image-alt #settings'], ['image-alt #news']]);
      expect(site.hits('/')).to.equal(4);
    });

    it('test the route of the start address', async () => {
      await open({ '/': application });
      const { pages } = await scan(`${site.origin}/#/settings`, { maxPages: 1 });
      expect(paths(pages)).to.deep.equal(['/#/settings']);
      expect(found(pages[0])).to.deep.equal(['image-alt #settings']);
    });

    it('do not make pages of other fragments, also after a redirect', async () => {
      await open({
        '/': html(anchors('/a#one', '/a#two', '/moved')),
        '/a': html('a'),
        '/moved': (_request, response) => response.writeHead(302, { location: '/b#part' }).end(),
        '/b': html('b'),
      });
      const { pages } = await scan(`${site.origin}/#top`);
      expect(paths(pages)).to.deep.equal(['/', '/a', '/moved']);
      expect(pages[2]!.final_url).to.equal(`${site.origin}/b`);
    });
  });

  it('include pages whose names end like a file', async () => {
    await open({
      '/': html(anchors('/wiki/Node.js', '/tags/vue.js', '/README.md', '/wiki/File:Plan.png', '/plan.png', '/style.css', '/all.zip')),
      '/wiki/Node.js': html('Node'),
      '/tags/vue.js': html('Vue'),
      '/README.md': html('Read me'),
      '/wiki/File:Plan.png': html('A plan'),
      '/plan.png': file('image/png', ''),
    });
    const { pages } = await scan(`${site.origin}/`);
    expect(testedOf(pages).map(({ url }) => new URL(url).pathname)).to.have.members([
      '/',
      '/wiki/Node.js',
      '/tags/vue.js',
      '/README.md',
      '/wiki/File:Plan.png',
    ]);
    for (const path of ['/plan.png', '/style.css', '/all.zip']) expect(site.hits(path), path).to.equal(0);
  });

  it('list a file that is no page as excluded, and do not count it as attempted', async () => {
    await open({
      '/': html(anchors('/README.md', '/feed.xml')),
      '/README.md': file('text/markdown', '# Text'),
      '/feed.xml': file('text/xml', '<a/>'),
    });
    const { pages } = await scan(`${site.origin}/`);
    expect(untested(pages, '/README.md')).to.include({
      reason: 'excluded',
      http_status: 200,
      message: 'The URL returns text/markdown, not a web page.',
    });
    expect(untested(pages, '/feed.xml').reason).to.equal('excluded');
    expect(countPages(pages)).to.deep.equal({ scanned: 1, failed: 0, total: 1 });
  });

  it('never list the same page twice because of session IDs in its links', async () => {
    let sessions = 0;
    // A server without cookies: every visit gets a session of its own, in all links.
    const page =
      (name: string): Route =>
      (_request, response) => {
        const session = (sessions += 1);
        const links = [
          `/a;jsessionid=${session}.node1`,
          `/b?PHPSESSID=${session}`,
          `/(S(${session}))/c`,
          `/d?visit=${session}`,
          `/?sid=${'a1'.repeat(8)}${session}`,
        ];
        response
          .writeHead(200, { 'content-type': 'text/html' })
          .end(html(`${name} ${anchors(...links).replaceAll(/to [^<]*/g, 'a link')}`, { title: name }));
      };
    const routes = { '/': page('start'), '/a': page('a'), '/b': page('b'), '/c': page('c'), '/d': page('d') };
    await open({ ...routes });
    const { pages } = await scan(`${site.origin}/`, { maxPages: 10 });
    expect(testedOf(pages).map(({ title }) => title)).to.deep.equal(['start', 'a', 'b', 'c', 'd']);
    expect(paths(testedOf(pages)).slice(0, 4)).to.deep.equal(['/', '/a', '/b', '/c']);
    // The scan cannot know that `visit` is a session ID, but the pages are the same.
    for (const other of pages.slice(5)) expect(other).to.include({ reason: 'same_as', same_as: pages[4]!.url });
    expect(pages.length).to.be.greaterThan(5);
  });

  describe('that name a canonical address', () => {
    const fault = '<img src="data:,">';
    const shell = (body: string): Route =>
      file('text/html', html(body, { head: '<link rel="canonical" href="/">', title: 'The application' }));

    it('are pages of their own if their content differs, also with equal titles', async () => {
      await open({ '/': shell(anchors('/one', '/two')), '/one': shell(`One ${fault}`), '/two': shell(`Two ${fault}${fault}`) });
      const { pages } = await scan(`${site.origin}/`);
      expect(pages.map((page) => found(page).length)).to.deep.equal([0, 1, 2]);
    });

    it('are the same as a page with equal main content, and say so', async () => {
      const view = (nav: string): Route =>
        file(
          'text/html',
          `<!doctype html><html lang="en"><head><title>List</title><link rel="canonical" href="/list"></head><body><nav>${nav}</nav><main><h1>List</h1></main></body></html>`,
        );
      await open({
        '/': html(anchors('/list?from=nav', '/list')),
        '/list?from=nav': view('<a href="/">here</a>'),
        '/list': view('<a href="/">there</a>'),
      });
      const { pages } = await scan(`${site.origin}/`);
      expect(paths(testedOf(pages))).to.deep.equal(['/', '/list?from=nav']);
      const { same_as, message } = untested(pages.slice(2), '/list');
      expect(same_as).to.equal(`${site.origin}/list?from=nav`);
      expect(message).to.include('main content').and.to.include(`canonical address ${site.origin}/list.`);
    });

    it('are pages of their own if they have other findings', async () => {
      const view = (nav: string): Route =>
        file(
          'text/html',
          `<!doctype html><html lang="en"><head><title>List</title><link rel="canonical" href="/list"></head><body><nav>${nav}</nav><main><h1>List</h1></main></body></html>`,
        );
      await open({ '/': html(anchors('/list?from=nav', '/list')), '/list?from=nav': view('here'), '/list': view(fault) });
      const { pages } = await scan(`${site.origin}/`);
      expect(pages.map(found)).to.deep.equal([[], [], ['image-alt img']]);
    });
  });

  it('are the same as another if they redirect to it, or display the same, such as a missing page with status 200', async () => {
    const missing = file('text/html', html('<p>There is no such page.</p>', { title: 'Not found' }));
    await open({
      '/': html(anchors('/a', '/old', '/gone-1', '/gone-2', '/gone-3')),
      '/a': html('a'),
      '/old': redirect('/a'),
      '/gone-1': missing,
      '/gone-2': missing,
      '/gone-3': missing,
    });
    const { pages } = await scan(`${site.origin}/`, {}, { workers: 2 });
    expect(pages.map((page) => (page.tested ? 'tested' : `${page.reason} ${new URL(page.same_as!).pathname}`))).to.deep.equal([
      'tested',
      'tested',
      'same_as /a',
      'tested',
      'same_as /gone-1',
      'same_as /gone-1',
    ]);
    expect(untested(pages, '/old').message).to.equal(`It redirects to ${site.origin}/a, which is tested.`);
    expect(untested(pages, '/gone-2').message).to.equal(`It displays the same as ${site.origin}/gone-1, which is tested.`);
    expect(countPages(pages)).to.deep.equal({ scanned: 3, failed: 0, total: 3 });
  });

  it('are tested at the target of a redirect whose own visit failed', async () => {
    let visits = 0;
    await open({
      '/': html(anchors('/flaky', '/old')),
      '/flaky': (_request, response) => {
        visits += 1;
        response.writeHead(visits === 1 ? 500 : 200, { 'content-type': 'text/html' }).end(html('Works now'));
      },
      '/old': redirect('/flaky'),
    });
    const { pages } = await scan(`${site.origin}/`);
    expect(pages.map((page) => (page.tested ? 'tested' : page.reason))).to.deep.equal(['tested', 'http_error', 'tested']);
  });

  it('follow the base of their document', async () => {
    await open({
      '/': html(anchors('x', './y'), { head: '<base href="/deep/down/">' }),
      '/deep/down/x': html('x'),
      '/deep/down/y': html('y'),
    });
    expect(paths((await scan(`${site.origin}/`)).pages)).to.deep.equal(['/', '/deep/down/x', '/deep/down/y']);
  });

  it('are listed up to 100 if the rules of the scan leave them out, and counted beyond', async () => {
    await open({ '/': html(anchors('/a', ...Array.from({ length: 130 }, (_, at) => `/out/${at}`))), '/a': html('a') });
    const crawl = { include: [], exclude: ['/out/**'], sitemap: false, respectRobots: true, waitFor: '', settleMs: 0 };
    const { pages, addressesLeft } = await scan(`${site.origin}/`, { crawl });
    expect(testedOf(pages)).to.have.length(2);
    expect(pages.filter((page) => !page.tested && page.reason === 'excluded')).to.have.length(100);
    expect(addressesLeft).to.equal(30);
  });

  it(`are read from a page with ${LINKS} links, and counted if they are not tested`, async () => {
    const many = Array.from({ length: LINKS }, (_, at) => `/list/${at}`);
    await open({
      '/': html(`<div hidden>${many.map((href) => `<a href="${href}">${href}</a>`).join(' ')}</div>${anchors('/last')}`),
      ...Object.fromEntries(['/list/0', '/list/1', '/last'].map((path) => [path, html('')])),
    });
    const { pages, addressesLeft } = await scan(`${site.origin}/`, { maxPages: 3 }, { pageBudgetMs: 60_000 });
    // The last link is the only one of its template.
    expect(paths(pages)).to.deep.equal(['/', '/list/0', '/last']);
    expect(addressesLeft).to.equal(LINKS - 1);
  });

  it('are counted if they are too long, each once', async () => {
    const long = 'x'.repeat(2048);
    const links = anchors(
      `/?q=${long}`,
      `/long/${long}`,
      `https://other.test/${long}`,
      `data:text/plain,${long}`,
      `mailto:a@b.test?body=${long}`,
    );
    await open({ '/': html(`${links}${anchors('/a')}`), '/a': html(links) });
    const { pages, addressesLeft } = await scan(`${site.origin}/`);
    expect(paths(pages)).to.deep.equal(['/', '/a']);
    expect(addressesLeft).to.equal(2);
  });

  it('show all templates of a site that leads on without end', async () => {
    // A calendar whose months link to the next one, and relative links that make every path longer.
    const routes: Record<string, Route> = {
      '/': html(anchors('/calendar/2026-1', '/deeper/x/', '/about', '/products/1', '/products/2')),
      '/about': html('about'),
      '/products/1': html('one'),
      '/products/2': html('two'),
    };
    for (let at = 1; at < 40; at++) routes[`/calendar/2026-${at}`] = html(anchors(`/calendar/2026-${at + 1}`));
    for (let depth = 1, path = '/deeper/x/'; depth < 8; depth++, path += 'deeper/x/') routes[path] = html(anchors('deeper/x/'));
    await open(routes);
    const { pages } = await scan(`${site.origin}/`, { maxPages: 12 });
    expect(paths(testedOf(pages))).to.include.members(['/', '/about', '/products/1', '/products/2']);
    expect(paths(testedOf(pages)).filter((path) => path.startsWith('/deeper'))).to.deep.equal(['/deeper/x/', '/deeper/x/deeper/x/']);
    expect(untested(pages, '/deeper/x/deeper/x/deeper/x/')).to.include({ reason: 'excluded' });
    expect(untested(pages, '/deeper/x/deeper/x/deeper/x/').message).to.include('without end');
  });

  it('come from all templates if there are more than the scan may test, with any number of workers', async () => {
    const routes: Record<string, Route> = {};
    const add = (path: string, ...links: string[]): Route => (routes[path] = html(anchors(...links)));
    const news = Array.from({ length: 30 }, (_, at) => `/news/${at}`);
    add('/', ...news, '/shop', '/imprint');
    add('/shop', '/shop/items/1', '/shop/items/2', '/shop/cart/now');
    for (const path of [...news, '/imprint', '/shop/items/1', '/shop/items/2', '/shop/cart/now']) add(path, '/');
    await open(routes);
    const [one, four] = [await scan(`${site.origin}/`, { maxPages: 18 }), await scan(`${site.origin}/`, { maxPages: 18 }, { workers: 4 })];
    expect(paths(four.pages)).to.deep.equal(paths(one.pages));
    expect(four.addressesLeft).to.equal(one.addressesLeft);
    expect(paths(one.pages)).to.include.members(['/shop', '/imprint', '/shop/items/1', '/shop/cart/now']);
    expect(one.pages.length + one.addressesLeft).to.equal(36);
  });
});
