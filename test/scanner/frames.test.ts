/** Frames: each one is tested, or listed with the reason why it was not. */
import type { IncomingHttpHeaders } from 'node:http';
import { expect } from 'chai';
import type { TestedPage } from '../../report/schema/page.ts';
import type { ScanInput } from '../../scanner-image/scan.ts';
import { FRAMES_LISTED_MAX, FRAMES_MAX } from '../../scanner-image/page/axe/frames.ts';
import { NIGHTLY } from '../support/nightly.ts';
import { FAULT, file, found, html, openSite, scan, script, testedOf, type Route, type Site } from './site.ts';

/** Names of the same machine: documents of different names are different sites. */
const NAMES = ['page.test', 'other.test', 'third.test', 'dead.test', 'private.test'];
const resolver = {
  resolve: (name: string) =>
    Promise.resolve(
      NAMES.includes(name)
        ? { ok: true as const, addresses: [name === 'private.test' ? '10.0.0.1' : '127.0.0.1'] }
        : { ok: false as const, reason: 'not_found' as const },
    ),
};

describe('frames of a page', () => {
  let site: Site;
  afterEach(() => site.close());

  /** Serves routes under every name and tests the page `/`. `OTHER`, `THIRD` and `PORT` in its HTML stand for the other sites. */
  async function testPage(body: string, routes: Record<string, Route> = {}, more: Partial<ScanInput> = {}): Promise<TestedPage> {
    site = await openSite({
      '/': (request, response) => {
        const port = request.headers.host?.split(':')[1] ?? '';
        const text = body.replaceAll('OTHER', `http://other.test:${port}`).replaceAll('THIRD', `http://third.test:${port}`);
        response.writeHead(200, { 'content-type': 'text/html' }).end(html(text));
      },
      ...routes,
    });
    const { pages } = await scan(`http://page.test:${site.port}/`, { maxPages: 1 }, { pageBudgetMs: 60_000, ...more }, { resolver });
    const page = testedOf(pages)[0];
    if (page === undefined) throw new Error(`not tested: ${JSON.stringify(pages)}`);
    return page;
  }

  const outcomes = (page: TestedPage): string[] => page.frames_untested.map(({ path, reason }) => `${reason} ${path.join(' | ')}`).sort();

  it('are listed if they hang, and neither the page nor the frames beside them are affected', async () => {
    const page = await testPage(
      `${FAULT}<iframe id="hangs" title="hangs" src="OTHER/hangs"></iframe><iframe id="healthy" title="healthy" src="THIRD/healthy"></iframe>`,
      {
        '/hangs': html(script('addEventListener("load", () => setTimeout(() => { for (;;); }, 5))')),
        '/healthy': html(FAULT),
      },
    );
    expect(found(page)).to.deep.equal(['image-alt #fault', 'image-alt #healthy | #fault']);
    expect(page.frames_untested).to.have.length(1);
    expect(page.frames_untested[0]).to.deep.include({ path: ['#hangs'], reason: 'timeout' });
    expect(page.frames_untested[0]?.url).to.equal(`http://other.test:${site.port}/hangs`);
    expect(page.frames_untested[0]?.message).to.match(/^The frame did not respond within \d/);
  });

  it('are tested if an element has the name of our script, within and around them', async () => {
    const named = (id: string): string =>
      `<!doctype html><html lang="en" id="curbcut"><title>t</title><body id="axe">${FAULT.replace('fault', id)}</body></html>`;
    const page = await testPage(
      '<a id="curbcutLimits"></a><form name="curbcut"></form><iframe id="across" name="curbcut" title="a" src="OTHER/named"></iframe><iframe id="same" name="axe" title="b" src="/named"></iframe>',
      { '/named': named('inside') },
    );
    expect(found(page)).to.deep.equal(['image-alt #across | #inside', 'image-alt #same | #inside']);
    expect(page.frames_untested).to.deep.equal([]);
  });

  it('are listed with the reason if they show no web page', async () => {
    const page = await testPage(
      `<iframe id="never" title="1" loading="lazy" src="/never"></iframe><iframe id="empty" title="2" src="/empty"></iframe>
       <iframe id="picture" title="3" src="/picture"></iframe><iframe id="denied" title="4" src="OTHER/denied"></iframe>
       <iframe id="dead" title="5" src="http://dead.test:9/"></iframe><iframe id="private" title="6" src="http://private.test/x"></iframe>
       <iframe id="blank" title="7"></iframe><iframe id="outer" title="8" src="/outer"></iframe><div id="host"></div>
       ${script('document.getElementById("host").attachShadow({ mode: "open" }).innerHTML = \'<iframe title="9" src="/empty"></iframe>\'')}`,
      {
        '/never': () => undefined,
        '/empty': (_request, response) => response.writeHead(204).end(),
        '/picture': file('image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"><title>t</title></svg>'),
        '/denied': file('text/html', html(FAULT), { 'x-frame-options': 'DENY' }),
        '/outer': html('<iframe id="inner" title="i" src="/empty"></iframe>'),
      },
      { allowTargets: ['127.0.0.0/8'], pageBudgetMs: 20_000 },
    );
    expect(found(page)).to.deep.equal([]);
    expect(outcomes(page)).to.deep.equal([
      'not_html #picture',
      'not_loaded #dead',
      'not_loaded #denied',
      'not_loaded #empty',
      'not_loaded #host >>> iframe[title="9"]',
      'not_loaded #never',
      'not_loaded #outer | #inner',
      'refused #private',
    ]);
    for (const { url, message } of page.frames_untested) {
      expect(url).to.match(/^(http:|\/)/);
      expect(message).to.match(/\.$/);
    }
  });

  it('of other sites meet the same browser as the page, in which no service worker can be installed', async () => {
    const seen = new Map<string, IncomingHttpHeaders>();
    const note =
      (body: string, type = 'text/html'): Route =>
      (request, response) => {
        seen.set(request.url!, request.headers);
        response.writeHead(200, { 'content-type': type }).end(body);
      };
    const says = `[navigator.userAgentData.brands.map(({ brand }) => brand), matchMedia('(prefers-reduced-motion)').matches, new Date().getTimezoneOffset(), navigator.languages, Intl.DateTimeFormat().resolvedOptions().locale]`;
    site = await openSite({
      '/': (request, response) => {
        const frame = `<iframe title="f" src="http://other.localhost:${request.socket.localPort}/frame"></iframe>`;
        response.writeHead(200, { 'content-type': 'text/html' }).end(html(frame));
      },
      '/frame': note(
        html(
          FAULT +
            script(`
        fetch('/_says', { headers: { says: JSON.stringify(${says}) } });
        navigator.serviceWorker.register('/_worker.js').finally(() => fetch('/_asked'));`),
        ),
      ),
      '/_says': note(''),
      '/_asked': note(''),
      '/_worker.js': note('', 'text/javascript'),
    });
    const start = `http://page.localhost:${site.port}/`;
    const local = { resolve: () => Promise.resolve({ ok: true as const, addresses: ['127.0.0.1'] }) };
    const { pages } = await scan(start, { maxPages: 1, locale: 'de' }, { pageBudgetMs: 60_000 }, { resolver: local });
    expect(found(testedOf(pages)[0])).to.deep.equal(['image-alt iframe | #fault']);
    const [brands, ...settings] = JSON.parse(String(seen.get('/_says')?.says)) as [string[], ...unknown[]];
    expect(brands).to.include('Curbcut').and.not.include('HeadlessChrome');
    expect(settings).to.deep.equal([true, 0, ['de-DE', 'de', 'en'], 'de-DE']);
    for (const path of ['/frame', '/_says']) {
      expect(seen.get(path)?.['user-agent'], path).to.include(' Curbcut/');
      expect(seen.get(path)?.['sec-ch-ua'], path).to.include('Curbcut').and.not.include('Headless');
    }
    expect([...seen.keys()])
      .to.include('/_asked')
      .and.not.include('/_worker.js');
  });

  it('are tested in sandboxes, with a strict content security policy, if they patch their built-ins, and if a script is their address', async () => {
    const page = await testPage(
      `<iframe id="sandbox" title="1" sandbox src="OTHER/plain"></iframe><iframe id="csp" title="2" src="OTHER/csp"></iframe>
       <iframe id="patched" title="3" src="OTHER/patched"></iframe><iframe id="data" title="4" src="data:text/html,<html lang=en><title>d</title><img id=fault src=/x>"></iframe>
       <iframe id="script" title="5" src="javascript:'<html lang=en><title>s</title><img id=fault src=/x>'"></iframe>`,
      {
        '/plain': html(FAULT),
        '/csp': file('text/html', html(FAULT), { 'content-security-policy': "default-src 'none'; sandbox" }),
        '/patched': html(
          FAULT +
            script(
              'for (const name of ["Set", "Map", "Promise", "JSON", "Array", "Object"]) window[name] = undefined; window.axe = { run() { throw 1 } }',
            ),
        ),
      },
    );
    expect(found(page)).to.deep.equal(['csp', 'data', 'patched', 'sandbox', 'script'].map((id) => `image-alt #${id} | #fault`));
    expect(page.frames_untested).to.deep.equal([]);
  });

  it('are tested up to a limit; the others are listed or counted', async () => {
    const total = FRAMES_MAX + FRAMES_LISTED_MAX + 5;
    const page = await testPage(
      `<div id="all"></div>${script(`document.getElementById('all').innerHTML = '<iframe title="f" srcdoc="<html lang=en><title>f</title><img id=fault src=/x>"></iframe>'.repeat(${total})`)}`,
    );
    expect(found(page)).to.have.length(FRAMES_MAX);
    expect(new Set(page.frames_untested.map(({ reason }) => reason))).to.deep.equal(new Set(['too_many']));
    expect(page.frames_untested).to.have.length(FRAMES_LISTED_MAX);
    expect(page.caveats).to.deep.equal([
      {
        kind: 'frames_limited',
        message: `${total - FRAMES_MAX} frames of the page were not tested. The first ${FRAMES_LISTED_MAX} are listed.`,
      },
    ]);
  });

  it('are listed if axe-core does not look for them, in objects and embeds; those in closed shadow roots are tested', async () => {
    const closed = (id: string, path: string): string =>
      `<div id="${id}"><template shadowrootmode="closed"><p>x</p><iframe title="c" src="${path}"></iframe></template></div>`;
    const hidden = ['style="display: none"', 'style="visibility: hidden"', 'aria-hidden="true"'];
    const page = await testPage(
      `${FAULT}<object id="object" data="/framed" aria-label="o"></object><embed id="embed" src="OTHER/framed" aria-label="e">
       <iframe id="frame" title="f" src="/with-object"></iframe><object data="/icon" aria-label="icon"></object>
       <object data="/missing" aria-label="missing">fallback</object><embed id="text" src="/text" aria-label="text">
       ${closed('closed', '/framed')}${closed('across', 'OTHER/framed')}
       ${hidden.map((how) => `<div ${how}><object data="/framed"></object><iframe title="h" src="/framed"></iframe></div>`).join('')}`,
      {
        '/framed': html(FAULT),
        '/with-object': html(`${FAULT}<object id="inner" data="/framed" aria-label="o"></object>`),
        '/icon': file('image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"><title>t</title></svg>'),
        '/text': file('text/plain', 'text'),
      },
    );
    expect(found(page)).to.deep.equal([
      'image-alt #across >>> iframe[title="c"] | #fault',
      'image-alt #closed >>> iframe[title="c"] | #fault',
      'image-alt #fault',
      'image-alt #frame | #fault',
    ]);
    expect(outcomes(page)).to.deep.equal(['not_html #text', 'unsupported #embed', 'unsupported #frame | #inner', 'unsupported #object']);
    const across = page.frames_untested.find(({ path }) => path.join() === '#embed');
    expect(across?.url).to.equal(`http://other.test:${site.port}/framed`);
    expect(across?.message).to.equal(
      'axe-core does not test documents in <embed> elements. To test its document, start a scan at its address.',
    );
  });

  it('are listed if the page removes them while they are tested', async () => {
    const page = await testPage(
      `${FAULT}<iframe id="removed" title="r" src="/removed"></iframe><iframe id="healthy" title="h" src="OTHER/healthy"></iframe>`,
      {
        // The scanner finishes animations right before the test of a document.
        '/removed': html(
          script(
            'const replace = () => frameElement?.replaceWith(frameElement.cloneNode()); const effect = document.documentElement.animate([], 600000); effect.onfinish = replace; effect.finished.then(replace);',
          ) + FAULT,
        ),
        '/healthy': html(FAULT),
      },
    );
    expect(found(page)).to.deep.equal(['image-alt #fault', 'image-alt #healthy | #fault']);
    expect(page.frames_untested.map(({ path, reason }) => [path, reason])).to.deep.equal([[['#removed'], 'removed']]);
  });

  // Each of its frames is tested until one of the limits above ends it.
  if (NIGHTLY)
    it('may be nested in each other without end', async () => {
      const page = await testPage(
        '<iframe title="f" id="a" src="/nested?0"></iframe>',
        {
          '/nested': (request, response) => {
            const depth = Number(request.url?.split('?')[1]);
            response
              .writeHead(200, { 'content-type': 'text/html' })
              .end(html(`<iframe title="f" id="a" src="/nested?${depth + 1}"></iframe>`));
          },
        },
        { pageBudgetMs: 10_000 },
      );
      expect(page.frames_untested).to.have.length(1);
      expect(page.frames_untested[0]?.reason).to.be.oneOf(['too_many', 'not_loaded']);
    });
});
