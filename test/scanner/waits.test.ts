/** Pages whose work is neither a request nor a change of the document, and pages that are never done. */
import { expect } from 'chai';
import type { TestedPage } from '../../report/schema/page.ts';
import { drawNothingFor } from './fixtures/late-frames.ts';
import { nightly } from '../support/nightly.ts';
import { REST_MS } from '../../scanner-image/page/visit/looks.ts';
import { found, html, openSite, scan, script, testedOf, type Route, type Site } from './site.ts';

/** The time between two looks as in a scan of a user. */
const FULL = { restMs: REST_MS };
const FAULT = '<img src="/none.png" id="late">';
const SHOW = `const show = () => document.querySelector('main').insertAdjacentHTML('beforeend', '${FAULT}');`;
const page = (code: string, body = ''): string => html(body, { head: script(SHOW) }).replace('</main>', `</main>${script(code)}`);
const worker = (code: string): string => `new Worker(URL.createObjectURL(new Blob([\`${code}\`], { type: 'text/javascript' })))`;
/** Keeps a thread at work. Not a timer, which a worker may have too. */
const spin = (ms: number): string => `for (const end = performance.now() + ${ms}; performance.now() < end;);`;
const tall = (body: string): string => `<p>Top</p><div style="height: 3000px">A tall page</div>${body}`;
/** The page is on 127.0.0.1. */
const otherSite = (path: string): string =>
  `document.body.insertAdjacentHTML('beforeend', '<iframe title="f" src="http://localhost:' + location.port + '${path}"></iframe>')`;
const kindsOf = ({ caveats }: TestedPage): string[] => caveats.map(({ kind }) => kind);

describe('the wait for work that is neither a request nor a change', () => {
  let site: Site | null = null;
  afterEach(async () => {
    await site?.close();
    site = null;
  });
  async function scanPages(routes: Record<string, Route>, path = '/', pageBudgetMs = 20_000): Promise<TestedPage[]> {
    site = await openSite(routes);
    return testedOf((await scan(site.origin + path, {}, { pageBudgetMs }, FULL)).pages);
  }

  const shown: Record<string, string> = {
    'a worker at work': page(`${worker(`${spin(900)} postMessage(1)`)}.onmessage = show`),
    'slices of work in messages': page(
      `const { port1, port2 } = new MessageChannel(); const end = performance.now() + 900; port1.onmessage = () => performance.now() < end ? port2.postMessage(0) : show(); port2.postMessage(0)`,
    ),
    'a database': page(
      `const request = indexedDB.open('a', 1); request.onupgradeneeded = () => { const store = request.result.createObjectStore('b'); for (let at = 0; at < 3000; at += 1) store.put('x'.repeat(1000), at); }; request.onsuccess = () => { const all = request.result.transaction('b').objectStore('b').getAll(); all.onsuccess = () => show(); }`,
    ),
    'a compilation': page(
      `const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]); WebAssembly.compile(bytes).then(() => { ${spin(200)} return WebAssembly.instantiate(bytes); }).then(show)`,
    ),
    'a timer that a busy page runs late': page(
      `setTimeout(() => { ${spin(600)} }, 900); setTimeout(() => fetch('/_data').then(show), 1200)`,
    ),
    'a drawing after a timer': page(
      `setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => fetch('/_data').then(show))), 900)`,
    ),
    'a frame that loads only in view': page('', tall('<iframe title="f" loading="lazy" src="/_frame"></iframe>')),
    'a timer in a frame': page('', '<iframe title="f" src="/_late-frame"></iframe>'),
    'a timer in a frame of another site': page(otherSite('/_late-frame')),
    'data in a frame of another site': page(otherSite('/_data-frame')),
  };
  const frames: Record<string, Route> = {
    '/_frame': html(FAULT),
    '/_late-frame': page('setTimeout(show, 900)'),
    '/_data-frame': page(`fetch('/_data').then(() => setTimeout(show, 300))`),
    '/_data': (_request, response) => void setTimeout(() => response.end('{}'), 1500),
  };
  describe('on the pages of one scan', () => {
    /** Each page has a template of its own, so that none learns from another what it need not wait for. */
    const pathOf = (name: string): string => `/${name.split(' ').join('').slice(0, 24)}`;
    let tested: Map<string, TestedPage>;
    before(async () => {
      const names = Object.keys(shown);
      const start = html(names.map((name) => `<a href="${pathOf(name)}">${name}</a>`).join(''));
      const routes = Object.fromEntries(names.map((name) => [pathOf(name), shown[name]!]));
      const all = await openSite({ '/': start, ...routes, ...frames });
      const { pages } = await scan(all.origin, {}, { pageBudgetMs: 20_000, workers: 2 }, FULL);
      await all.close();
      tested = new Map(testedOf(pages).map((one) => [new URL(one.url).pathname, one]));
    });
    for (const name of Object.keys(shown))
      it(`ends when ${name} has shown its content`, () => {
        const one = tested.get(pathOf(name))!;
        expect(found(one)).to.deep.equal([name.includes('frame') ? 'image-alt iframe | #late' : 'image-alt #late']);
        expect(kindsOf(one)).to.deep.equal([]);
      });
  });

  const inView = `new IntersectionObserver(([{ isIntersecting }], observer) => { if (isIntersecting) { observer.disconnect(); show(); } }).observe(document.getElementById('end'))`;
  const drawn: Record<string, string> = {
    'in view': page(`fetch('/_late').then(() => ${inView})`, '<p id="end">End</p>'),
    'after scrolling': page(`${inView}; fetch('/_late')`, tall('<p id="end">End</p>')),
    'two frames later': page(`fetch('/_late').then(() => requestAnimationFrame(() => requestAnimationFrame(show)))`),
  };
  for (const [name, body] of Object.entries(drawn))
    it(`tests what a page shows ${name}, however late the browser draws`, async () => {
      const late: Route = (_request, response) => {
        drawNothingFor(900);
        response.end('{}');
      };
      const [tested] = await scanPages({ '/': body, '/_late': late });
      expect(tested && found(tested)).to.deep.equal(['image-alt #late']);
      expect(tested && kindsOf(tested)).to.deep.equal([]);
    });

  it('waits for a timer of a page that sets a class all the time, which no visitor notices', async () => {
    const restless = 'setInterval(() => (document.body.className = String(Math.random())), 20);';
    const [tested] = await scanPages({ '/': page(`${restless} setTimeout(show, 900)`) });
    expect(tested && found(tested)).to.deep.equal(['image-alt #late']);
    expect(tested && kindsOf(tested)).to.deep.equal([]);
  });

  const busy: Record<string, string> = {
    'a worker that never answers': page(worker('')),
    'a timer of eight seconds': page('setTimeout(show, 8000)'),
  };
  for (const [name, body] of Object.entries(busy))
    it(`says that a page was still at work: ${name}`, async () => {
      const [tested] = await scanPages({ '/': body });
      expect(tested && kindsOf(tested)).to.include('still_busy');
    });

  it('does not call a page busy because of a clock, or of a timer that gives up', async () => {
    const [tested] = await scanPages({
      '/': page('setInterval(() => undefined, 5000); setTimeout(() => undefined, 10_000); indexedDB.open("a").onsuccess = () => undefined'),
    });
    expect(tested && kindsOf(tested)).to.deep.equal([]);
  });

  it('tests content that a page shows only in view', async () => {
    const observe = `const observer = new IntersectionObserver((entries) => { for (const { target, isIntersecting } of entries) target.classList.toggle('shown', isIntersecting); });
      for (const target of document.querySelectorAll('.reveal')) observer.observe(target);`;
    const reveal = '<style>.reveal { visibility: hidden } .shown { visibility: visible }</style>';
    const [tested] = await scanPages({
      '/': page(observe, reveal + tall('<p class="reveal" id="one" style="color: #aaa">Pale text</p>')),
    });
    expect(tested && found(tested)).to.deep.equal(['color-contrast #one']);
    expect(tested && kindsOf(tested)).to.deep.equal([]);
  });

  it('says that content was seen in view and not tested', async () => {
    const rows = `const list = document.getElementById('list'); const draw = () => { const first = Math.floor(scrollY / 40); list.replaceChildren(...Array.from({ length: 30 }, (_, at) => { const row = document.createElement('p'); row.textContent = 'Row ' + (first + at); row.style = 'position: absolute; margin: 0; top: ' + 40 * (first + at) + 'px'; return row; })); }; draw(); addEventListener('scroll', draw);`;
    const [tested] = await scanPages({ '/': page(rows, '<div id="list" style="position: relative; height: 8000px"></div>') });
    expect(tested && kindsOf(tested)).to.deep.equal(['view_only']);
  });
});

describe('a page that keeps loading', () => {
  let site: Site;
  afterEach(() => site.close());
  const start = '<!doctype html><html lang="en"><head><title>Long</title></head><body><main><h1>Long</h1>';

  it('is tested as it is when its document never ends', async () => {
    site = await openSite({
      '/': (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/html' }).write(`${start}${FAULT}`);
        const timer = setInterval(() => response.write('<p>More</p>'), 100);
        response.on('close', () => clearInterval(timer));
      },
    });
    const [tested] = testedOf((await scan(site.origin, {}, { pageBudgetMs: 12_000 })).pages);
    expect(tested && found(tested)).to.deep.equal(['image-alt #late']);
    expect(tested && kindsOf(tested)).to.deep.equal(['still_loading']);
    expect(tested?.caveats[0]?.message).to.match(/^The page had not finished loading when it was tested\b/);
  });

  for (const count of nightly([], [20_000]))
    it(`is tested as it is when it has ${count} images`, async () => {
      const images = Array.from({ length: count }, (_, at) => `<img alt="" src="/${at}.png">`).join('');
      site = await openSite({ '/': html(FAULT + images) });
      // The browser itself needs seconds of CPU time for so many requests.
      const time = { pageBudgetMs: 120_000, deadline: new Date(Date.now() + 300_000).toISOString() };
      const [tested] = testedOf((await scan(site.origin, {}, time)).pages);
      expect(tested && kindsOf(tested)).to.include('still_loading');
    }).timeout(300_000);
});
