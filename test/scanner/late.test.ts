/**
 * Pages that show their faults late, or only for a moment, by means that no list of what a page may wait for names. Found are those of a
 * page at rest. The kinds come from public reports on scanners.
 */
import { expect } from 'chai';
import type { TestedPage } from '../../report/schema/page.ts';
import { REST_MS } from '../../scanner-image/page/visit/looks.ts';
import { found, html, openSite, scan, script, testedOf, type Route, type Site } from './site.ts';

/** The time between two looks as in a scan of a user. */
const FULL = { restMs: REST_MS };
const SHOW = `const show = () => document.querySelector('main').insertAdjacentHTML('beforeend', '<img src="/_none.png" id="late">');`;
const page = (code: string, body = ''): string => html(body, { head: script(SHOW) }).replace('</main>', `</main>${script(code)}`);
const blob = (code: string): string => `URL.createObjectURL(new Blob([${JSON.stringify(code)}], { type: 'text/javascript' }))`;
const PALE = '#pale { color: #bbb } #pale { background: #fff }';
const answerAfter =
  (ms: number, type: string, body: string | Buffer): Route =>
  (_request, response) =>
    void setTimeout(() => response.writeHead(200, { 'content-type': type }).end(body), ms);
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

/** Pages whose fault `#late` is there at rest. */
const late: Record<string, string> = {
  'worker-that-says-ready': page(
    `const worker = new Worker(${blob(`onmessage = ({ data }) => setTimeout(() => postMessage(data), data === 'work' ? 1200 : 0); postMessage('ready')`)}); worker.onmessage = ({ data }) => data === 'work' && show(); worker.postMessage('start'); worker.postMessage('work')`,
  ),
  'worker-that-fetches': page(
    `const worker = new Worker(${blob(`onmessage = ({ data }) => { postMessage('ready'); fetch(data).then(() => postMessage('done')); }`)}); worker.onmessage = ({ data }) => data === 'done' && show(); worker.postMessage(location.origin + '/_slow.json')`,
  ),
  'shared-worker': page(
    `new SharedWorker(${blob(`onconnect = ({ ports: [port] }) => setTimeout(() => port.postMessage(1), 1000)`)}).port.onmessage = show`,
  ),
  'delay-in-an-attribute': page(
    `setTimeout(show, document.getElementById('delay').dataset.delay)`,
    '<p id="delay" data-delay="800">Text</p>',
  ),
  'three-timers': page(`setTimeout(() => setTimeout(() => setTimeout(show, 1500), 1500), 1500)`),
  onload: html('', { head: script(SHOW) }).replace('<body', '<body onload="setTimeout(show, 500)"'),
  'script-that-removes-itself': page(`document.currentScript.remove(); crypto.subtle.digest('SHA-256', new ArrayBuffer(4e7)).then(show)`),
  'late-picture': page(`const picture = new Image(); picture.onload = show; picture.src = '/_slow.gif'`),
  'decoded-picture': page(`const picture = new Image(); picture.src = '/_slow.gif'; picture.decode().then(show)`),
  'cache-storage': page(
    `caches.open('a').then((cache) => cache.put('/x', new Response('x'.repeat(1e6))).then(() => cache.match('/x'))).then(show)`,
  ),
  'delayed-task': page(`scheduler.postTask(show, { delay: 900 })`),
  'abort-signal': page(`AbortSignal.timeout(1100).onabort = show`),
  'idle-on-a-busy-page': page(
    `const end = performance.now() + 1200; (function turn() { for (const until = performance.now() + 40; performance.now() < until;); if (performance.now() < end) setTimeout(turn, 5); })(); requestIdleCallback(show)`,
  ),
  'forty-frames': page(`let left = 40; (function draw() { left -= 1; if (left === 0) show(); else requestAnimationFrame(draw); })()`),
  'second-message': page(`let seen = 0; new EventSource('/_events').onmessage = () => { seen += 1; if (seen === 2) show(); }`),
  'first-message-after-three-seconds': page(`new EventSource('/_late-event').onmessage = show`),
  'route-of-history': page(
    `setTimeout(() => history.replaceState(null, '', '/route-of-history?step=2'), 1500); crypto.subtle.digest('SHA-256', new ArrayBuffer(4e7)).then(() => setTimeout(show, 1500))`,
  ),
  'hidden-name': page(
    `new Worker(${blob(`setTimeout(() => postMessage(1), 900)`)}).onmessage = () => { document.getElementById('name').textContent = ''; show(); }`,
    '<span id="name" hidden>Name</span>',
  ),
  'worker-in-a-frame': html('<iframe title="Frame" src="/_frame"></iframe>'),
};

/** Pages at rest without a fault: what the first look may see is a moment. */
const momentary: Record<string, string> = {
  'fade-by-opacity': page(
    `const text = document.getElementById('text'); const began = performance.now(); (function draw() { const part = Math.min(1, (performance.now() - began) / 1200); text.style.opacity = part; if (part < 1) requestAnimationFrame(draw); })()`,
    '<p id="text" style="color: #333">Text</p>',
  ),
  'fade-by-colour': page(
    `const text = document.getElementById('text'); let level = 240; const timer = setInterval(() => { level -= 10; text.style.color = 'rgb(' + [level, level, level] + ')'; if (level <= 50) clearInterval(timer); }, 60)`,
    '<p id="text">Text</p>',
  ),
  'name-that-comes-late': page(
    `new Worker(${blob(`setTimeout(() => postMessage(1), 900)`)}).onmessage = () => document.querySelector('button').setAttribute('aria-label', 'Close')`,
    '<button></button>',
  ),
};

const pale = `<p id="pale">Pale text</p>`;
const sheets: Record<string, string> = {
  'late-style-sheet': page(
    `setTimeout(() => { const link = document.createElement('link'); link.rel = 'stylesheet'; link.href = '/_slow.css'; document.head.append(link); }, 300)`,
    pale,
  ),
};

const events =
  (delays: readonly number[]): Route =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    for (const ms of delays) setTimeout(() => response.write('data: 1\n\n'), ms);
  };
const parts: Record<string, Route> = {
  '/_slow.json': answerAfter(1200, 'application/json', '{}'),
  '/_slow.gif': answerAfter(1000, 'image/gif', PIXEL),
  '/_slow.css': answerAfter(1000, 'text/css', PALE),
  '/_events': events([50, 1500]),
  '/_late-event': events([3300]),
  '/_frame': late['worker-that-says-ready']!,
};

const pathOf = ({ url }: TestedPage): string => new URL(url).pathname;
const kindsOf = ({ caveats }: TestedPage): string[] => caveats.map(({ kind }) => kind);

describe('a page that changes after it seemed at rest', () => {
  let site: Site;
  let tested: Map<string, TestedPage>;
  before(async function () {
    const all = { ...late, ...momentary, ...sheets };
    const start = html(
      Object.keys(all)
        .map((name) => `<a href="/${name}">${name}</a>`)
        .join(' '),
    );
    const routes = Object.fromEntries(Object.entries(all).map(([name, body]) => [`/${name}`, body.replace('<title>', `<title>${name} `)]));
    site = await openSite({ '/': start, ...routes, ...parts });
    const { pages } = await scan(site.origin, { maxPages: 40 }, { workers: 2, pageBudgetMs: 60_000 }, FULL);
    tested = new Map(testedOf(pages).map((one) => [pathOf(one).slice(1), one]));
  });
  after(() => site.close());

  for (const name of Object.keys(late))
    it(`is tested when it has shown its content: ${name}`, () => {
      expect(found(tested.get(name)!)).to.deep.equal([name.endsWith('frame') ? 'image-alt iframe | #late' : 'image-alt #late']);
      expect(kindsOf(tested.get(name)!)).to.deep.equal([]);
    });
  for (const name of Object.keys(momentary))
    it(`has no fault that was a moment: ${name}`, () => {
      expect(found(tested.get(name)!)).to.deep.equal([]);
      expect(kindsOf(tested.get(name)!)).to.deep.equal([]);
    });
  it('is tested with a style sheet that a script adds', () => {
    expect(found(tested.get('late-style-sheet')!)).to.deep.equal(['color-contrast #pale']);
  });
});

describe('the second look', () => {
  let site: Site | null = null;
  afterEach(() => site?.close());

  it('is left out on later pages of a template with the same scripts that have nothing left to do', async () => {
    const LIST = Array.from({ length: 16 }, (_, at) => `/p/${at + 1}`);
    const delayed = (ms: number): string => `const delay = ${ms}; if (delay > 0) setTimeout(show, delay);`;
    site = await openSite({
      '/': html(LIST.map((path) => `<a href="${path}">${path}</a>`).join(' ')),
      ...Object.fromEntries(LIST.map((path) => [path, page(delayed(path === '/p/15' ? 3500 : 0), `<p>${path}</p>`)])),
    });
    const pages = testedOf((await scan(site.origin, { maxPages: 20 }, { workers: 2 }, FULL)).pages);
    expect(pages.flatMap((one) => found(one).map((finding) => [pathOf(one), finding]))).to.deep.equal([['/p/15', 'image-alt #late']]);
    expect(pages.flatMap(kindsOf)).to.deep.equal([]);
  });

  it('may be left out where scrolling is not, and a page that was not scrolled says so', async () => {
    const LIST = Array.from({ length: 16 }, (_, at) => `/p/${at + 1}`);
    const sticky = `addEventListener('scroll', () => document.body.dataset.top = String(scrollY))`;
    const lazy = `new IntersectionObserver(([{ isIntersecting }], observer) => { if (isIntersecting) { observer.disconnect(); show(); } }).observe(document.getElementById('end'))`;
    const body = '<div style="height: 2000px">Tall</div><p id="end">End</p>';
    site = await openSite({
      '/': html(LIST.map((path) => `<a href="${path}">${path}</a>`).join(' ')),
      ...Object.fromEntries(LIST.map((path, at) => [path, page(at < 14 ? sticky : `${sticky}; ${lazy}`, `<p>${path}</p>${body}`)])),
    });
    const pages = testedOf((await scan(site.origin, { maxPages: 20 }, { workers: 2 }, FULL)).pages).filter((one) => pathOf(one) !== '/');
    expect(pages.map(found).flat()).to.deep.equal(['image-alt #late', 'image-alt #late']);
    const skipped = pages.filter((one) => kindsOf(one).includes('wait_skipped')).map(pathOf);
    expect(skipped).to.include('/p/14').and.not.include('/p/1');
    expect(pages.filter((one) => found(one).length > 0).flatMap(kindsOf)).to.deep.equal([]);
  });

  it('says that a chain of timers goes on', async () => {
    const chain = `let left = 20; const next = () => { left -= 1; if (left > 0) setTimeout(next, 1000); else show(); }; next();`;
    site = await openSite({ '/': page(chain) });
    const [tested] = testedOf((await scan(site.origin, {}, {}, FULL)).pages);
    expect(tested && [found(tested), kindsOf(tested)]).to.deep.equal([[], ['still_busy']]);
  });

  it('counts when the page keeps changing, and says so', async () => {
    const slides = `let at = 0; setInterval(() => { at += 1; document.querySelectorAll('main p').forEach((slide, index) => (slide.hidden = index !== at % 3)); }, 700)`;
    site = await openSite({ '/': page(slides, '<p>One</p><p hidden>Two slides</p><p hidden>Three words here</p>') });
    const [tested] = testedOf((await scan(site.origin, {}, { pageBudgetMs: 40_000 }, FULL)).pages);
    expect(tested && kindsOf(tested)).to.deep.equal(['not_quiet']);
  });

  it('is not waited for where no script ran', async () => {
    site = await openSite({ '/': html('<img src="/_none.png" id="fault">') });
    // A page that had to wait would say that its time was over.
    const [tested] = testedOf((await scan(site.origin, {}, { pageBudgetMs: 30_000 }, { restMs: 60_000 })).pages);
    expect(tested && [found(tested), tested.caveats]).to.deep.equal([['image-alt #fault'], []]);
  });
});
