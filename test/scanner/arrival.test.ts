/** Pages are tested when they are at rest: after their timers, observers, sockets and requests have shown their content. */
import { expect } from 'chai';
import type { TestedPage } from '../../report/schema/page.ts';
import { REST_MS } from '../../scanner-image/page/visit/looks.ts';
import { lateContent, openSocketServer } from './fixtures/late-content.ts';
import { found, html, openSite, scan, script, testedOf, type Route, type Site } from './site.ts';

const FAULT = '<img src="/none.png" id="fault">';

const pageAt = (pages: readonly TestedPage[], path: string): TestedPage => {
  const page = pages.find(({ url }) => new URL(url).pathname === path);
  if (page === undefined) throw new Error(`${path} was not tested`);
  return page;
};
const kindsOf = (page: TestedPage): string[] => page.caveats.map(({ kind }) => kind);

describe('settling of pages with late content', () => {
  const LATE = ['button-name button', 'image-alt #late'];
  /** What pages show that show something else. */
  const FINDINGS: Record<string, string[]> = {
    '/revealed': ['color-contrast p'],
    '/shadow': ['button-name #host > button', 'image-alt #host > #late'],
    '/late-shadow': ['button-name #host > button', 'image-alt #host > #late'],
    '/consent': ['button-name #accept', 'color-contrast p', 'label #choice'],
    '/dialog': ['label #field'],
    '/slow-image': ['image-alt #slow'],
    '/animated': ['color-contrast #text'],
    '/replaced': ['image-alt #written'],
    '/ticks': ['image-alt #beside'],
  };
  const CAVEATS: Record<string, string[]> = { '/consent': ['content_blocked'], '/dialog': ['content_blocked'] };
  let socket: Awaited<ReturnType<typeof openSocketServer>>;
  let late: Site;
  let pages: TestedPage[];
  const paths = Object.keys(lateContent('')).filter((name) => !name.startsWith('/_'));
  before(async () => {
    socket = await openSocketServer();
    late = await openSite({ '/': html(paths.map((path) => `<a href="${path}">${path}</a>`).join('')), ...lateContent(socket.url) });
    pages = testedOf((await scan(late.origin, { maxPages: paths.length + 1 }, { workers: 2 }, { restMs: REST_MS })).pages);
  });
  after(() => Promise.all([socket.close(), late.close()]));

  for (const path of paths)
    it(`ends when ${path} is at rest`, () => {
      const page = pageAt(pages, path);
      expect(found(page)).to.deep.equal(FINDINGS[path] ?? LATE);
      expect(kindsOf(page)).to.deep.equal(CAVEATS[path] ?? []);
    });
});

describe('settling', () => {
  let site: Site;
  const open = async (routes: Record<string, Route>): Promise<void> => void (site = await openSite(routes));
  afterEach(() => site.close());
  it('gives a host that never answers five seconds once in a scan, and names it on each page', async () => {
    const dead = await openSite({ '/a.png': () => undefined, '/b.png': () => undefined, '/frame': () => undefined });
    const page = (name: string, image: string): string => html(`${FAULT}<img alt="" src="${dead.origin}${image}">`, { title: name });
    await open({
      '/': html(`${FAULT}<img alt="" src="${dead.origin}/a.png"><a href="/one">1</a><a href="/two">2</a><a href="/framed">3</a>`),
      '/framed': html(`${FAULT}<iframe title="frame" src="${dead.origin}/frame"></iframe>`, { title: 'framed' }),
      '/one': page('one', '/a.png'),
      '/two': page('two', '/b.png'),
    });
    try {
      const pages = testedOf((await scan(`${site.origin}/`)).pages);
      expect(pages.map(found)).to.deep.equal(pages.map(() => ['image-alt #fault']));
      expect(pages.slice(0, 3).map(kindsOf)).to.deep.equal([['still_loading'], ['requests_unanswered'], ['requests_unanswered']]);
      expect(pages[3]?.frames_untested.map(({ path }) => path)).to.deep.equal([['iframe']]);
      expect(pages[0]?.caveats[0]?.message).to.equal(
        `The page had not finished loading when it was tested: no complete response arrived in time from ${dead.origin}/a.png. It was tested as it was then.`,
      );
      expect(pages[2]?.caveats[0]?.message)
        .to.include('Not requested, because this scan has waited for the same host or file in vain before')
        .and.include(`${dead.origin}/b.png`);
      expect(dead.requests).to.deep.equal(['/a.png']);
    } finally {
      await dead.close();
    }
  });

  it('visits a page again whose parser waits for a host or a file that never answers, without it', async () => {
    const dead = await openSite({ '/a.js': () => undefined });
    await open({
      '/': html(FAULT, { head: `<script src="${dead.origin}/a.js"></script>` }).replace('</main>', '<a href="/one">1</a></main>'),
      '/one': html(FAULT, { title: 'one', head: `<script src="${dead.origin}/a.js"></script><script src="/_never.js"></script>` }),
      '/_never.js': () => undefined,
    });
    try {
      const pages = testedOf((await scan(`${site.origin}/`, {}, { pageBudgetMs: 20_000 })).pages);
      expect(pages.map(found)).to.deep.equal([['image-alt #fault'], ['image-alt #fault']]);
      expect(pages.map(kindsOf)).to.deep.equal([['requests_unanswered'], ['requests_unanswered']]);
      expect(pages[0]?.caveats[0]?.message).to.include(`${dead.origin}/a.js`);
      expect(pages[1]?.caveats[0]?.message).to.include(`${site.origin}/_never.js`);
      expect(dead.requests).to.deep.equal(['/a.js']);
    } finally {
      await dead.close();
    }
  });

  it('points nowhere on the page', async () => {
    const style =
      '<style>#corner { position: fixed; left: 0; top: 0; margin: 0; color: #000; background: #fff } #corner:hover { color: #ccc }</style>';
    await open({ '/': html('<p id="corner">In the corner</p>', { head: style }) });
    expect(testedOf((await scan(`${site.origin}/`)).pages).map(found)).to.deep.equal([[]]);
  });

  it('requests a style sheet that may not be stored once, and tests a start page without one that never arrives', async () => {
    await open({
      '/': html(FAULT, { head: '<link rel="stylesheet" href="/slow.css"><link rel="stylesheet" href="/never.css">' }),
      '/slow.css': (_request, response) =>
        void setTimeout(() => response.writeHead(200, { 'content-type': 'text/css', 'cache-control': 'no-store' }).end('p {}'), 300),
      '/never.css': () => undefined,
    });
    const [page] = testedOf((await scan(`${site.origin}/`)).pages);
    expect([found(page), kindsOf(page!)]).to.deep.equal([['image-alt #fault'], ['still_loading']]);
    expect(page!.caveats[0]!.message).to.include(`${site.origin}/never.css`);
    expect([site.hits('/slow.css'), site.hits('/never.css')]).to.deep.equal([1, 1]);
  });

  it('does not repeat the wait for one file that never arrives from a host that answers', async () => {
    await open({
      '/': html(`${FAULT}<img alt="" src="/never.png"><a href="/one">1</a>`),
      '/one': html(`${FAULT}<img alt="" src="/never.png"><img alt="" src="/other.png">`, { title: 'one' }),
      '/never.png': () => undefined,
    });
    const pages = testedOf((await scan(`${site.origin}/`)).pages);
    expect(pages.map(kindsOf)).to.deep.equal([['still_loading'], ['requests_unanswered']]);
    expect([site.hits('/never.png'), site.hits('/other.png')]).to.deep.equal([1, 1]);
  });

  it('names data that never arrives, and follows a redirect that a page starts while it waits for an image', async () => {
    await open({
      '/': html(`${FAULT}${script('fetch("/_poll")')}<a href="/moves">m</a>`),
      '/_poll': () => undefined,
      '/moves': html(`<img alt="" src="/_never.png">${script('setTimeout(() => location.replace("/_moved"), 1500)')}`, { title: 'moves' }),
      '/_never.png': () => undefined,
      // Its parser waits for the script.
      '/_moved': html('<script src="/_slow.js"></script><img src="/none.png" id="moved">', { title: 'moved' }),
      '/_slow.js': (_request, response) =>
        void setTimeout(() => response.writeHead(200, { 'content-type': 'text/javascript' }).end(), 4500),
    });
    const pages = testedOf((await scan(`${site.origin}/`, {}, { pageBudgetMs: 30_000 })).pages);
    expect(pages.map(found)).to.deep.equal([['image-alt #fault'], ['image-alt #moved']]);
    expect(pages.map(({ caveats }) => caveats.map(({ message }) => message))).to.deep.equal([
      [`No complete response arrived in time from ${site.origin}/_poll. The page was tested without what they show.`],
      [],
    ]);
  });

  it('waits neither for a body that no script reads, nor calls it unanswered', async () => {
    const json = { 'content-type': 'application/json', 'cache-control': 'no-store' };
    const requests = ['sized', 'unsized'].map((name) => `fetch('/_${name}', { method: 'POST' }).then(({ ok }) => ok)`);
    await open({
      '/': html(FAULT + script(requests.join(';'))),
      '/_sized': (_request, response) => void response.writeHead(200, { ...json, 'content-length': 2 }).end('{}'),
      '/_unsized': (_request, response) => void response.writeHead(200, json).end('{}'),
    });
    const [page] = testedOf((await scan(`${site.origin}/`)).pages);
    expect([found(page), page!.caveats]).to.deep.equal([['image-alt #fault'], []]);
  });

  it('names data that is on its way when the time of the page is over, however young the request', async () => {
    const steps = `(async () => { for (let at = 0; at < 30; at += 1) await fetch('/_step'); document.querySelector('main').innerHTML = '${FAULT}'; })()`;
    await open({
      '/': html('<p>Loading</p>', { head: script(`addEventListener('load', () => ${steps})`) }),
      '/_step': (_request, response) =>
        void setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'), 500),
    });
    const [page] = testedOf((await scan(`${site.origin}/`, {}, { pageBudgetMs: 10_000 })).pages);
    expect(page!.caveats.map(({ kind, message }) => [kind, message])).to.deep.equal([
      [
        'requests_unanswered',
        `No complete response arrived in time from ${site.origin}/_step. The page was tested without what they show.`,
      ],
    ]);
  });

  it('waits for the element of crawl.waitFor, also in shadow roots, and reports a page without it', async () => {
    const later = (show: string): string => html(`<div id="host"></div>${script(`setTimeout(() => { ${show} }, 4000)`)}`);
    await open({
      '/': later(
        `document.querySelector('main').insertAdjacentHTML('beforeend', '<div class="ready">${FAULT}</div><a href="/shadow">s</a><a href="/missing">m</a>')`,
      ),
      '/shadow': html(
        later(`document.getElementById('host').attachShadow({ mode: 'open' }).innerHTML = '<div class="ready">${FAULT}</div>'`),
        { title: 'shadow' },
      ),
      '/missing': html(FAULT + script(''), { title: 'missing' }),
    });
    const crawl = { include: [], exclude: [], sitemap: true, respectRobots: true, waitFor: '.ready', settleMs: 0 };
    const pages = testedOf((await scan(`${site.origin}/`, { crawl })).pages);
    expect(pages.map(found)).to.deep.equal([['image-alt #fault'], ['image-alt #host > #fault'], ['image-alt #fault']]);
    expect(pages.map(({ caveats }) => caveats)).to.deep.equal([
      [],
      [],
      [{ kind: 'wait_for_missing', message: 'No element matched crawl.waitFor (.ready) in time. The page was tested without it.' }],
    ]);
  });

  it('reports an invalid selector in crawl.waitFor', async () => {
    await open({ '/': html(FAULT) });
    const crawl = { include: [], exclude: [], sitemap: true, respectRobots: true, waitFor: 'div[', settleMs: 0 };
    const [page] = testedOf((await scan(`${site.origin}/`, { crawl })).pages);
    expect(page?.caveats.map(({ message }) => message)).to.deep.equal([
      'crawl.waitFor is not a valid CSS selector (div[). The page was tested without it.',
    ]);
  });

  it('gives every page the time of crawl.settleMs', async () => {
    const late = `${script(`setTimeout(() => document.querySelector('main').insertAdjacentHTML('beforeend', '${FAULT}'), 4500)`)}`;
    await open({ '/': html(`${late}<a href="/two">2</a>`), '/two': html(late, { title: 'two' }) });
    const crawl = { include: [], exclude: [], sitemap: true, respectRobots: true, waitFor: '' };
    const without = testedOf((await scan(`${site.origin}/`, { crawl: { ...crawl, settleMs: 0 } })).pages);
    expect(without.map(found)).to.deep.equal([[], []]);
    const pages = testedOf((await scan(`${site.origin}/`, { crawl: { ...crawl, settleMs: 6000 } }, { pageBudgetMs: 30_000 })).pages);
    expect(pages.map(found)).to.deep.equal([['image-alt #fault'], ['image-alt #fault']]);
  });

  it('scrolls through a part of a page that grows without end, and says so', async () => {
    const grow = `const main = document.querySelector('main'); const add = () => { main.insertAdjacentHTML('beforeend', '<img src="/none.png"><div style="height: 900px">More</div>'); observer.unobserve(last); last = main.lastElementChild; observer.observe(last); };
      let last = main.querySelector('div'); const observer = new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && add()); observer.observe(last);`;
    await open({ '/': html(`<div style="height: 900px">Start</div>${script(grow)}`) });
    const [page] = testedOf((await scan(`${site.origin}/`, {}, { pageBudgetMs: 30_000 })).pages);
    expect(page?.violations[0]?.nodes.length).to.be.greaterThan(10);
    expect(page && kindsOf(page)).to.deep.equal(['not_scrolled']);
  });

  it('tests pages that hang when they are scrolled without scrolling, and says so', async () => {
    const hangs = html(`${FAULT}<div style="height: 3000px">Tall</div>${script('addEventListener("scroll", () => { for (;;); })')}`);
    await open({
      '/': html('<a href="/item/1">1</a><a href="/item/2">2</a><a href="/other">3</a>'),
      '/item/1': hangs,
      '/item/2': hangs.replace('Tall', 'Another'),
      '/other': html(`${FAULT}<p>other</p>`),
    });
    const pages = testedOf((await scan(`${site.origin}/`, {}, { pageBudgetMs: 20_000 })).pages).slice(1);
    expect(pages.map((page) => [new URL(page.url).pathname, found(page), kindsOf(page)])).to.have.deep.members([
      ['/item/1', ['image-alt #fault'], ['not_scrolled']],
      ['/item/2', ['image-alt #fault'], ['not_scrolled']],
      ['/other', ['image-alt #fault'], []],
    ]);
    expect(pageAt(pages, '/item/1').caveats[0]?.message).to.match(/^The page, or one like it, stopped responding when it was scrolled\. /);
  }).timeout(180_000);

  it('leaves no trace that a page can use', async () => {
    const check = `const own = (name) => Object.getOwnPropertyNames(window).filter((key) => /curbcut/i.test(key)).length === 0 && /^function .*\\{ \\[native code\\] \\}$/.test(window[name]) && window[name].name === name;
      if (!own('setTimeout') || !own('clearInterval')) document.querySelector('main').innerHTML = '<img src="/none.png" id="traced">';
      class Mine extends IntersectionObserver {} new Mine(() => undefined).observe(document.body); setTimeout('window.ran = 1', 0); setTimeout((one, two) => { if (one + two !== 3) throw new Error(); document.body.dataset.called = '' }, 10, 1, 2);
      addEventListener('error', () => document.querySelector('main').innerHTML = '<img src="/none.png" id="failed">');
      delete Map.prototype.get; Array.prototype.push = JSON.stringify = () => { throw new Error(); };`;
    await open({ '/': html(`${FAULT}${script(check)}`) });
    expect(testedOf((await scan(`${site.origin}/`)).pages).map(found)).to.deep.equal([['image-alt #fault']]);
  });
});
