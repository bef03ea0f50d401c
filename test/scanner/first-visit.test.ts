/** What a site learns of the browser, and what the browser keeps of a site: each page is tested as a first visit. */
import type { IncomingHttpHeaders } from 'node:http';
import { expect } from 'chai';
import { file, found, html, openSite, scan, testedOf, untested, type Route, type Site } from './site.ts';

const script = (code: string): string => `<script>${code}</script>`;
const FAULT = '<img src="/missing.png" id="fault">';

/** Stores something in every way, while a request keeps the page from being quiet. */
const STORE = script(`
  fetch('/_hold');
  addEventListener('load', async () => {
    document.cookie = 'kept=1; path=/';
    localStorage.kept = sessionStorage.kept = 1;
    await new Promise((resolve) => { const open = indexedDB.open('kept', 1); open.onupgradeneeded = () => open.result.createObjectStore('kept'); open.onsuccess = resolve; });
    await (await caches.open('kept')).put('/kept', new Response('kept'));
    await (await navigator.storage.getDirectory()).getFileHandle('kept', { create: true });
    fetch('/_stored');
  });`);

/** Shows an image without an alternative text for each kind of storage that has something in it. */
const LOOK = script(`
  addEventListener('load', async () => {
    const found = [];
    if (document.cookie !== '') found.push('cookie');
    if (localStorage.length > 0) found.push('local');
    if (sessionStorage.length > 0) found.push('session');
    if ((await indexedDB.databases()).length > 0) found.push('database');
    if ((await caches.keys()).length > 0) found.push('cache');
    for await (const name of (await navigator.storage.getDirectory()).keys()) found.push('file-' + name);
    for (const id of found) document.body.insertAdjacentHTML('beforeend', '<img src="/missing.png" id="' + id + '">');
    document.body.insertAdjacentHTML('beforeend', '<img src="/missing.png" id="looked">');
  });`);

describe('first visits', () => {
  let site: Site;
  afterEach(() => site.close());

  /** The interfaces for storage need a secure origin, which `localhost` is. */
  const address = (path: string): string => `http://localhost:${site.port}${path}`;

  it('find nothing that the pages before have stored, also if their visit failed', async () => {
    let stored = (): void => undefined;
    const held = new Promise<void>((resolve) => (stored = resolve));
    site = await openSite({
      '/_hold': (_request, response) => void held.then(() => response.end()),
      '/_stored': (_request, response) => {
        stored();
        response.end();
      },
      '/': html('<a href="/stores">1</a><a href="/looks">2</a><a href="/stores-and-fails">3</a><a href="/looks?again">4</a>'),
      '/stores': html(STORE, { title: 'stores' }),
      '/looks': html(LOOK, { title: 'looks' }),
      '/looks?again': html(LOOK, { title: 'looks again' }),
      '/stores-and-fails': html(script('localStorage.kept = sessionStorage.kept = 1; location.replace("/_gone")')),
    });
    const { pages } = await scan(address('/'), { maxPages: 5 }, { pageBudgetMs: 30_000 });
    expect(site.hits('/_stored')).to.equal(1);
    expect(untested(pages, '/stores-and-fails').reason).to.equal('http_error');
    expect(testedOf(pages).map((page) => [page.title, found(page).join()])).to.deep.equal([
      ['A page', ''],
      ['stores', ''],
      ['looks', 'image-alt #looked'],
      ['looks again', 'image-alt #looked'],
    ]);
  });

  it('have one identity in all requests and interfaces, with the language of the scan and an address to ask', async () => {
    const seen = new Map<string, IncomingHttpHeaders>();
    const { promise: workerAsked, resolve: asked } = Promise.withResolvers<void>();
    const note =
      (body: Route & string, type = 'text/html'): Route =>
      (request, response) => {
        seen.set(request.url?.split('?')[0] ?? '', request.headers);
        if (request.url?.startsWith('/_says') === true) seen.set('says', { says: decodeURIComponent(request.url.split('?')[1] ?? '') });
        response.writeHead(200, { 'content-type': type }).end(body);
      };
    const says = `[navigator.userAgent, navigator.languages, Intl.DateTimeFormat().resolvedOptions().locale, navigator.userAgentData.brands.map(({ brand }) => brand)]`;
    site = await openSite({
      '/': note(html(script(`fetch('/_says?' + encodeURIComponent(JSON.stringify(${says}))); new Worker('/_worker.js'); fetch('/_held')`))),
      '/_says': note(''),
      '/_worker.js': note('fetch("/_from-worker")', 'text/javascript'),
      '/_from-worker': (request, response) => {
        asked();
        seen.set('/_from-worker', request.headers);
        response.end();
      },
      // The page waits for it, but not for the requests of workers.
      '/_held': (_request, response) => void workerAsked.then(() => response.end()),
      '/robots.txt': note('', 'text/plain'),
    });
    await scan(address('/'), { maxPages: 1, locale: 'de' }, { contactUrl: 'https://curbcut.example.org' });
    const agent = seen.get('/')?.['user-agent'] ?? '';
    expect(agent).to.match(
      /^Mozilla\/5\.0 \(X11; Linux x86_64\) .* Chrome\/\d+\.0\.0\.0 Safari\/537\.36 Curbcut\/\S+ \(\+https:\/\/curbcut\.example\.org\)$/,
    );
    for (const path of ['/_says', '/_worker.js', '/_from-worker']) expect(seen.get(path)?.['user-agent'], path).to.equal(agent);
    for (const path of ['/', '/_says', '/_worker.js', '/_from-worker'])
      expect(seen.get(path)?.['accept-language'], path).to.match(/^de-DE,de(;q=0\.9)?,en(;q=0\.8)?$/);
    expect(seen.get('/robots.txt')?.['user-agent']).to.match(/^Curbcut\/\S+ \(\+https:\/\/curbcut\.example\.org\)$/);
    const [userAgent, languages, locale, brands] = JSON.parse(String(seen.get('says')?.says)) as [string, string[], string, string[]];
    expect([userAgent, languages, locale]).to.deep.equal([agent, ['de-DE', 'de', 'en'], 'de-DE']);
    expect(brands).to.include.members(['Chromium', 'Curbcut']).and.not.include('HeadlessChrome');
    const major = /Chrome\/(\d+)/.exec(agent)?.[1];
    for (const path of ['/', '/_says'])
      expect(seen.get(path)?.['sec-ch-ua'], path).to.include(`"Chromium";v="${major}"`).and.not.include('Headless');
  });

  it('load no pages in advance that the site only speculates on', async () => {
    const rules = (path: string): string =>
      JSON.stringify({ prefetch: [{ urls: [`${path}?fetched`] }], prerender: [{ urls: [`${path}?run`] }] });
    const later = `const add = (parent, path) => { const rules = document.createElement('script'); rules.type = 'speculationrules'; rules.textContent = ${JSON.stringify(rules('PATH'))}.replaceAll('PATH', path); parent.append(rules); return rules; };
      add(document.head, '/_added'); const box = document.createElement('div'); add(box, '/_nested'); document.body.append(box);
      for (let n = 0; n < 100; n++) document.body.append(document.createElement('span')); add(document.body, '/_among'); fetch('/_wait');`;
    site = await openSite({
      '/': file('text/html', html(`${FAULT}<script type="speculationrules">${rules('/_inline')}</script>${script(later)}`), {
        'speculation-rules': '"/_rules.json"',
      }),
      '/_rules.json': file('application/speculationrules+json', rules('/_header')),
      // Keeps the page from being quiet for a second, in which the browser would load the others.
      '/_wait': (_request, response) => void setTimeout(() => response.end(), 1000),
    });
    const { pages } = await scan(address('/'), { maxPages: 1 });
    expect(found(pages[0])).to.deep.equal(['image-alt #fault']);
    expect(site.requests.filter((path) => path.startsWith('/_'))).to.deep.equal(['/_wait']);
  });
});
