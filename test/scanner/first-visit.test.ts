/** What a site learns of the browser, and what the browser keeps of a site: each page is tested as a first visit. */
import type { IncomingHttpHeaders } from 'node:http';
import { expect } from 'chai';
import { FAULT, file, found, html, openSite, scan, script, testedOf, untested, type Route, type Site } from './site.ts';

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
    const cookies: (string | undefined)[] = [];
    const looks =
      (title: string): Route =>
      (request, response) => {
        cookies.push(request.headers.cookie);
        response.writeHead(200, { 'content-type': 'text/html' }).end(html(LOOK, { title }));
      };
    site = await openSite({
      '/_hold': (_request, response) => void held.then(() => response.end()),
      '/_stored': (_request, response) => {
        stored();
        response.end();
      },
      '/': html('<a href="/stores">1</a><a href="/looks">2</a><a href="/stores-and-fails">3</a><a href="/looks?again">4</a>'),
      '/stores': (_request, response) =>
        response
          .writeHead(200, { 'content-type': 'text/html', 'set-cookie': 'server=1; Path=/; HttpOnly' })
          .end(html(STORE, { title: 'stores' })),
      '/looks': looks('looks'),
      '/looks?again': looks('looks again'),
      '/stores-and-fails': html(script('localStorage.kept = sessionStorage.kept = 1; location.replace("/_gone")')),
    });
    const { pages } = await scan(address('/'), { maxPages: 5 }, { pageBudgetMs: 30_000 });
    expect(site.hits('/_stored')).to.equal(1);
    expect(cookies).to.deep.equal([undefined, undefined]);
    expect(untested(pages, '/stores-and-fails').reason).to.equal('http_error');
    expect(testedOf(pages).map((page) => [page.title, found(page).join()])).to.deep.equal([
      ['A page', ''],
      ['stores', ''],
      ['looks', 'image-alt #looked'],
      ['looks again', 'image-alt #looked'],
    ]);
  });

  it('find neither the name nor the history that the pages before gave the tab', async () => {
    const page = (name: string): string =>
      html(
        script(
          `document.title = ['${name}', JSON.stringify(name), history.length].join(' '); name = 'kept'; for (let at = 0; at < 5; at++) history.pushState(at, '', location.href)`,
        ),
      );
    const names = ['/one', '/two', '/three', '/four'];
    site = await openSite({
      '/': html(names.map((path) => `<a href="${path}">${path}</a>`).join('')),
      ...Object.fromEntries(names.map((path) => [path, page(path)])),
    });
    const { pages } = await scan(address('/'), { maxPages: 5 });
    expect(
      testedOf(pages)
        .slice(1)
        .map(({ title }) => title),
    ).to.deep.equal(names.map((path) => `${path} "" 2`));
  });

  it('let an application go on that waits for a service worker, and start none', async () => {
    const register = (path: string): string => `navigator.serviceWorker.register('${path}', { scope: './' })`;
    const shows = `document.body.insertAdjacentHTML('beforeend', '${FAULT}')`;
    const around = `ServiceWorkerContainer.prototype.register.call(navigator.serviceWorker, '/_worker.js')`;
    site = await openSite({
      '/': html('<a href="/ready">1</a><a href="/registered">2</a><a href="/framed">3</a><a href="/looks">4</a>'),
      '/ready': html(
        script(
          `${register('/_worker.js')}; navigator.serviceWorker.ready.then(({ active }) => { active.postMessage('x'); if (active.state === 'activated') ${shows} })`,
        ),
        { title: 'ready' },
      ),
      '/registered': html(
        script(
          `${register('/_worker.js')}.then(async (registration) => { registration.addEventListener('updatefound', () => 0); await registration.update(); if (registration instanceof ServiceWorkerRegistration && (await navigator.serviceWorker.getRegistration()) === registration) ${shows} })`,
        ),
        { title: 'registered' },
      ),
      '/framed': (_request, response) =>
        response.writeHead(200, { 'content-type': 'text/html' }).end(
          html(`<iframe title="s" src="/_frame"></iframe><iframe title="o" src="http://127.0.0.1:${site.port}/_frame"></iframe>`, {
            title: 'framed',
          }),
        ),
      '/_frame': html(script(`${around}; ${register('/_worker.js')}; navigator.serviceWorker.ready.then(() => { ${shows} })`)),
      '/looks': html(
        `<p id="state"></p>${script(`document.title = 'looks ' + (navigator.serviceWorker.controller === null); navigator.serviceWorker.getRegistrations().then(({ length }) => (document.title += ' ' + length)); fetch('/_data').then((response) => response.text()).then((text) => (document.title += ' ' + text))`)}`,
      ),
      '/_data': file('text/plain', 'new'),
      '/_worker.js': file(
        'text/javascript',
        `addEventListener('install', () => skipWaiting()); addEventListener('activate', (event) => event.waitUntil(clients.claim())); addEventListener('fetch', (event) => event.respondWith(new Response('old')))`,
      ),
    });
    const { pages } = await scan(address('/'), { maxPages: 5 });
    expect(testedOf(pages).map((page) => [page.title, found(page).join(), page.caveats])).to.deep.equal([
      ['A page', '', []],
      ['ready', 'image-alt #fault', []],
      ['registered', 'image-alt #fault', []],
      ['framed', 'image-alt iframe[title="o"] | #fault,image-alt iframe[title="s"] | #fault', []],
      ['looks true 0 new', '', []],
    ]);
    expect(site.hits('/_worker.js')).to.equal(0);
  });

  it('raise no error of our own in a sandbox, which has no service workers', async () => {
    const policy = { 'content-security-policy': 'sandbox allow-scripts' };
    const shows = script(`addEventListener('error', () => document.body.insertAdjacentHTML('beforeend', '${FAULT}'))`);
    site = await openSite({
      '/': file('text/html', html(`${shows}<iframe title="b" src="/_boxed"></iframe>`), policy),
      '/_boxed': file('text/html', html(shows), policy),
    });
    const [page] = testedOf((await scan(address('/'), { maxPages: 1 })).pages);
    expect([found(page), page!.caveats]).to.deep.equal([[], []]);
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
