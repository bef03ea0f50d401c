/** Which addresses are the same page, and that every address that a scan meets is in its report. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { countPages } from '../../report/results/score.ts';
import { nightly } from '../support/nightly.ts';
import {
  answer,
  FAULT,
  file,
  found,
  html,
  openSite,
  paths,
  redirect,
  scan,
  script,
  testedOf,
  untested,
  type Route,
  type Site,
} from './site.ts';

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
  });

  it('list what the site answers with a file, with its type and the pages that link it, and do not count it as attempted', async () => {
    await open({
      '/': html(anchors('/README.md', '/feed', '/get?id=1', '/html')),
      '/README.md': file('text/markdown', '# Text'),
      '/feed': file('application/rss+xml; charset=utf-8', '<rss/>'),
      '/get': file('application/octet-stream', 'x', { 'content-disposition': 'attachment' }),
      '/html': file('text/html', html('x'), { 'content-disposition': 'attachment; filename=a.html' }),
    });
    const { pages } = await scan(`${site.origin}/`);
    const listed = pages.flatMap((page) => (page.tested ? [] : [page]));
    for (const page of listed) expect(page).to.deep.include({ reason: 'document', linked_from: [`${site.origin}/`] });
    expect(listed.map((page) => [page.url.replace(site.origin, ''), page.media_type])).to.have.deep.members([
      ['/README.md', 'text/markdown'],
      ['/feed', 'application/rss+xml'],
      ['/get?id=1', 'application/octet-stream'],
      ['/html', 'text/html'],
    ]);
    expect(countPages(pages)).to.deep.equal({ scanned: 1, failed: 0, total: 1 });
  });

  it('do not use up the pages of a scan if they are files', async () => {
    const files = Array.from({ length: 30 }, (_, at) => `/get/${at}`);
    await open({
      '/': html(anchors(...files, '/get/page')),
      ...Object.fromEntries(files.map((path) => [path, file('application/zip', 'PK')])),
      '/get/page': html('A page among files'),
    });
    const { pages } = await scan(`${site.origin}/`, { maxPages: 2 });
    expect(testedOf(pages)).to.have.length(2);
  });

  it('are tested as they are displayed when they start the download of a file that browsers save, named or not', async () => {
    const thanks = (path: string): string => html(`Thanks${FAULT}${script(`setTimeout(() => { location = '${path}' }, 300)`)}`);
    const binary = Buffer.from([0x50, 0x4b, 3, 4, 0, 0, 0, 0, 1, 2, 0xff, 0xfe]);
    await open({
      '/': html(anchors('/zip', '/csv', '/untyped', '/json')),
      ...Object.fromEntries(['zip', 'csv', 'untyped', 'json'].map((kind) => [`/${kind}`, thanks(`/_${kind}`)])),
      '/_zip': file('application/zip', binary),
      '/_csv': file('text/csv', 'a,b'),
      '/_untyped': (_request, response) => response.end(binary),
      '/_json': file('application/json', '{}'),
    });
    const { pages } = await scan(`${site.origin}/`);
    const outcomes = pages.map((page) => `${new URL(page.url).pathname} ${page.tested ? found(page).join() : page.reason}`);
    expect(outcomes).to.deep.equal(['/ ', '/zip image-alt #fault', '/csv image-alt #fault', '/untyped image-alt #fault', '/json document']);
  });

  it('are waited for when a page moves on after it started a download', async () => {
    const moves = script(`location = '/_zip'; setTimeout(() => { location = '/_shown' }, 400)`);
    await open({
      '/': html(`${anchors('/moves')}`),
      '/moves': html(moves, { title: 'moves' }),
      '/_zip': file('application/zip', 'PK'),
      '/_shown': html(`${FAULT}<img alt="" src="/_slow.png">`, { title: 'shown' }),
      '/_slow.png': (_request, response) => void setTimeout(() => response.writeHead(404).end(), 2000),
    });
    const [, moved] = testedOf((await scan(`${site.origin}/`)).pages);
    expect(moved && [found(moved), moved.caveats]).to.deep.equal([['image-alt #fault'], []]);
  });

  it('stand for other spellings only when the site has answered them with a page', async () => {
    await open({
      '/': html(
        anchors(
          '/docs',
          '/docs/',
          '/team/',
          '/team',
          '/list?b=1&a=2',
          '/list?a=2&b=1',
          '/ref?gclid=1',
          '/late',
          '/both',
          '/both/',
          '/dead',
          '/dead/',
          '/a',
        ),
      ),
      '/docs/': html(`docs${FAULT}`),
      '/team': html(`team${FAULT}`),
      '/list?a=2&b=1': html(`list${FAULT}`),
      '/ref?gclid=1': html(`ref${FAULT}`),
      '/a': html(anchors('/late', '/late/', '/private', '/private/', '/late/')),
      '/late/': html(`late${FAULT}`),
      '/robots.txt': 'User-agent: *\nDisallow: /private/',
      '/both': html('both'),
    });
    const { pages } = await scan(`${site.origin}/`, {}, { workers: 2 });
    const tested = ['/', '/a', '/both', '/docs/', '/late/', '/list?a=2&b=1', '/ref?gclid=1', '/team'];
    expect(paths(testedOf(pages)).sort()).to.deep.equal(tested);
    for (const [path, other] of [
      ['/docs', '/docs/'],
      ['/late', '/late/'],
      ['/ref', '/ref?gclid=1'],
    ] as const)
      expect(untested(pages, path)).to.include({ reason: 'same_as', same_as: `${site.origin}${other}`, http_status: 404 });
    expect(untested(pages, '/private').reason).to.equal('http_error');
    expect(site.hits('/private/') + site.hits('/both/')).to.equal(0);
    expect(countPages(pages)).to.deep.equal({ scanned: 8, failed: 2, total: 10 });
  });

  it('are read in the encoding of the document', async () => {
    const sjis = Buffer.concat([Buffer.from('<!doctype html><html lang="ja"><title>a</title><h1>a</h1><a href="/find?q='), Buffer.from([0x93, 0xfa]), Buffer.from('">a</a><svg><a xlink:href="/find?q='), Buffer.from([0x96, 0x7b]), Buffer.from('"><text>b</text></a></svg>')]); // prettier-ignore
    await open({ '/': file('text/html; charset=shift_jis', sjis), '/find?q=%93%FA': html('1'), '/find?q=%96{': html('2') });
    const { pages } = await scan(`${site.origin}/`);
    expect(paths(testedOf(pages))).to.deep.equal(['/', '/find?q=%93%FA', '/find?q=%96{']);
  });

  it('of other hosts are counted by host, from links and sitemaps, and files are listed with the pages that link them', async () => {
    await open({
      '/': html(
        `${anchors('https://a.test/1', 'https://a.test/1#x', 'https://a.test/2', '/b', '/plan.pdf', '/get?id=7')}<a href="/save" download>Save</a>`,
      ),
      '/b': html(anchors('https://a.test/2', 'https://b.test:8080/', '/b#x', '/plan.pdf#page=2', '/Old.DOC')),
      '/get?id=7': file('application/pdf', '%PDF-'),
      '/sitemap.xml': '<urlset><url><loc>https://a.test/3</loc></url></urlset>',
    });
    const { discovery } = await scan(`${site.origin}/`);
    expect(discovery).to.deep.equal({
      links: 5,
      files: 3,
      hash_links: 1,
      other_hosts: [
        { host: 'a.test', links: 2, sitemap_entries: 1 },
        { host: 'b.test:8080', links: 1, sitemap_entries: 0 },
      ],
      other_hosts_left: 0,
      sitemaps_cut: 0,
      documents: [
        { url: `${site.origin}/plan.pdf`, type: 'pdf', linked_from: [`${site.origin}/`, `${site.origin}/b`] },
        { url: `${site.origin}/Old.DOC`, type: 'doc', linked_from: [`${site.origin}/b`] },
        { url: `${site.origin}/get?id=7`, type: 'pdf', linked_from: [`${site.origin}/`] },
      ],
      documents_total: 3,
    });
    expect(site.hits('/plan.pdf') + site.hits('/save')).to.equal(0);
  });

  describe('with fragments that name no element', () => {
    const views = `<div id="view"></div>${script(
      `const view = Document.prototype.getElementById.call(document, 'view');
      view.innerHTML = location.hash.length > 1 ? location.hash + '<img id="fault" src="data:,">' : '';`,
    )}`;
    const app = html(
      `${anchors('#list', '#item:1', '#%E4', '#', '#top', '#place', '#%70lace', '#a%2Bb', '#C++_Übersicht', '#named')}<h2 id="place">P</h2><h3 id="C++_Übersicht">C</h3><p id="a+b">a</p>
      <a name="named">n</a><img alt="" name="getElementById">${views}`,
    );

    it('are counted', async () => {
      await open({ '/': app });
      const { pages, discovery } = await scan(`${site.origin}/`);
      expect(paths(pages)).to.deep.equal(['/']);
      expect(discovery).to.include({ hash_links: 3, links: 0 });
    });

    it('are pages with hashRoutes: all, also those of other pages and redirects, each with the pages that link it', async () => {
      const start = html(anchors('/app', '/app#other', '/old#view', '/old', '/gone#x', '/app#top'));
      await open({ '/': start, '/app': app, '/old': redirect('/new'), '/new': html(`New${views}`) });
      const { pages, discovery } = await scan(`${site.origin}/#main`, { crawl: { hashRoutes: 'all' } }, { workers: 2 });
      const shown = testedOf(pages).map((page) => `${page.url.replace(site.origin, '')} ${found(page).join()}`);
      const withFault = ['/app#%E4', '/app#item:1', '/app#list', '/app#other', '/old#view'].map((path) => `${path} image-alt #fault`);
      expect(shown).to.have.members(['/#main ', '/app ', '/old ', ...withFault]);
      expect(testedOf(pages).find(({ url }) => url.endsWith('/old#view'))?.final_url).to.equal(`${site.origin}/new#view`);
      const gone = pages.find(({ url }) => url.endsWith('/gone#x'));
      expect(gone).to.deep.include({ reason: 'http_error', linked_from: [`${site.origin}/#main`] });
      expect(discovery.hash_links).to.equal(0);
    });
  });

  describe('in frames', () => {
    const menu = (...to: string[]): string => html(`<nav>${anchors(...to)}</nav>`);
    const frameset = (...frames: string[]): string =>
      `<!doctype html><html lang="en"><head><title>Frames</title></head><frameset cols="1,2">${frames.map((src) => `<frame title="${src}" src="${src}">`).join('')}</frameset></html>`;

    it('of the site are followed, also nested and late ones, and those of other sites are not', async () => {
      const other = await openSite({ '/': menu('/not-ours') });
      const late = script(`setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<a href="/late">late</a>'), 300)`);
      await open({
        '/': frameset('/_menu', '/_outer'),
        '/_menu': menu('/one', '/two').replace('</body>', `${late}</body>`),
        '/_outer': html(
          `<iframe title="c" src="/_inner"></iframe><iframe title="d" sandbox src="/_sandbox"></iframe><iframe title="e" src="${other.origin.replace('127.0.0.1', 'localhost')}/"></iframe>`,
        ),
        '/_inner': menu('/three'),
        '/_sandbox': menu('/four'),
        ...Object.fromEntries(['/one', '/two', '/three', '/four', '/late'].map((path) => [path, html(path)])),
      });
      const { pages, discovery } = await scan(`${site.origin}/`);
      await other.close();
      expect(paths(testedOf(pages)).sort()).to.deep.equal(['/', '/four', '/late', '/one', '/three', '/two']);
      expect(discovery.other_hosts).to.deep.equal([]);
    });

    it('are what a frameset is: two with other frames are two pages, and one is read although it is not part of the scan', async () => {
      const content: Route = (request, response) =>
        response.writeHead(200, { 'content-type': 'text/html' }).end(html(`Text ${request.url}`));
      await open({
        '/': frameset('/_menu', '/_c?id=0'),
        '/_menu': menu('/docs/1', '/docs/2'),
        '/_c': content,
        '/docs/1': frameset('/_menu', '/_c?id=1'),
        '/docs/2': frameset('/_menu', '/_c?id=2'),
      });
      const { pages } = await scan(`${site.origin}/`, { crawl: { include: ['/docs/*'] } });
      expect(paths(testedOf(pages))).to.deep.equal(['/docs/1', '/docs/2']);
    });
  });

  describe('that name a canonical address', () => {
    const fault = '<img src="data:,">';

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

  it('are listed up to 100 if the rules of the scan leave them out, and counted beyond', async () => {
    await open({ '/': html(anchors('/a', '/x/x/x/', ...Array.from({ length: 130 }, (_, at) => `/out/${at}`))), '/a': html('a') });
    const crawl = { include: [], exclude: ['/out/**'], sitemap: false, respectRobots: true, waitFor: '', settleMs: 0 };
    const { pages, addressesLeft } = await scan(`${site.origin}/`, { crawl });
    expect(testedOf(pages)).to.have.length(2);
    expect(pages.filter((page) => !page.tested && page.reason === 'excluded')).to.have.length(100);
    expect(addressesLeft).to.equal(31);
    expect(untested(pages, '/x/x/x/').message).to.include('without end');
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

  it('are all counted where docs/scanning.md says it', async () => {
    const docs = await readFile(join(import.meta.dirname, '../../docs/scanning.md'), 'utf8');
    const rows = /### What discovery leaves out\n\n.*\n.*\n((?:\|.*\n)+)/.exec(docs)![1]!.trim().split('\n');
    const long = '/long/'.padEnd(2100, 'x');
    const other = await openSite({ '/': html(anchors('/of-other-frame')), '/only-long': html(anchors(long)) });
    const more = Array.from({ length: 60 }, (_, at) => `/more/${at}`);
    const links = ['/a', '/a?copy', '/broken', '/file', '/out/1', '/closed', '#view', 'https://other.test/', '/plan.pdf'];
    await open({
      '/': html(`${anchors(...links)}<iframe title="a" src="/_frame"></iframe><form action="/form"><button>Go</button></form>
        <iframe title="b" src="${other.origin.replace('127.0.0.1', 'localhost')}/"></iframe>`),
      '/a': file('text/html', html('a')),
      '/a?copy': file('text/html', html('a')),
      '/broken': answer(500, {}, html(anchors('/behind-broken'))),
      '/file': file('application/zip', 'PK'),
      '/_frame': file('text/html', html(anchors('/in-frame')), { 'x-frame-options': 'deny' }),
      '/robots.txt': 'User-agent: *\nDisallow: /closed\nSitemap: /map.xml\nSitemap: /odd.json',
      '/map.xml': (request, response) => {
        const entries = more.map((path) => `<url><loc>http://${request.headers.host}${path}</loc></url>`);
        response.end(`<urlset>${entries.join('')}</urlset>`);
      },
      '/odd.json': file('application/json', '{}'),
      ...Object.fromEntries(more.map((path) => [path, html(path)])),
    });
    const { pages, addressesLeft, discovery } = await scan(`${site.origin}/`, { maxPages: 6, crawl: { exclude: ['/out/*'] } });
    const onlyLong = await scan(`${other.origin}/only-long`);
    await other.close();
    const listed = Object.fromEntries(paths(pages).map((path, at) => [path, pages[at]!.tested || pages[at]!.reason]));
    const counted: Record<string, [found: unknown, expected: unknown]> = {
      'links and sitemap entries of other hosts, unless `crawl.hosts` or `crawl.rewriteHost` names them': [
        discovery.other_hosts.map(({ host }) => host),
        ['other.test'],
      ],
      'links to fragments that name no element of their page': [discovery.hash_links, 1],
      'files that were not requested': [discovery.files, 1],
      'files by their answer': [listed['/file'], 'document'],
      'addresses that the rules of the scan or robots.txt leave out': [
        [listed['/out/1'], listed['/closed']],
        ['excluded', 'robots_disallowed'],
      ],
      'addresses beyond `maxPages`, and more than 20,000 links of a page': [addressesLeft > 20, true],
      'addresses of more than 2,048 characters': [onlyLong.addressesLeft, 1],
      'sitemaps that cannot be read': [listed['/odd.json'], 'excluded'],
      'the end of sitemaps that list more than the scan may test': [discovery.sitemaps_cut, 1],
      'links of a page that is the same as another, or could not be tested': [
        [[listed['/a'], listed['/a?copy']].includes('same_as'), listed['/broken']],
        [true, 'http_error'],
      ],
      'links of frames that were not tested': [testedOf(pages)[0]!.frames_untested.map(({ url }) => new URL(url!).pathname), ['/_frame']],
      'links of frames of other sites': ['/of-other-frame' in listed, false],
      'addresses that only forms, buttons or scripts open': ['/form' in listed, false],
    };
    expect(rows.map((row) => row.split('|')[1]!.trim())).to.deep.equal(Object.keys(counted));
    for (const [row, [got, expected]] of Object.entries(counted)) expect(got, row).to.deep.equal(expected);
  });
});
