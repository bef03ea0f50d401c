/** Pages that show nothing are not tested, and pages of which something failed say so. */
import { expect } from 'chai';
import type { PageCaveatKind, ReportPage } from '../../report/schema/page.ts';
import {
  answer,
  failureOf,
  FAULT,
  file,
  found,
  html,
  openSite,
  paths,
  scan,
  script,
  testedOf,
  untested,
  type Route,
  type Site,
} from './site.ts';

const pageOf = (body: string, head = '', title = 'A page'): Route =>
  file('text/html; charset=utf-8', `<!doctype html><html lang="en"><head><title>${title}</title>${head}</head><body>${body}</body></html>`);

describe('a page', () => {
  let site: Site;
  const open = async (routes: Record<string, Route>): Promise<void> => {
    const linked = Object.keys(routes).filter((path) => !path.startsWith('/_'));
    site = await openSite({ '/': html(linked.map((path) => `<p><a href="${path}">${path}</a></p>`).join('')), ...routes });
  };
  afterEach(() => site.close());

  const caveatsOf = (pages: readonly ReportPage[], path: string): [PageCaveatKind, string][] =>
    testedOf(pages)
      .find(({ url }) => new URL(url).pathname === path)
      ?.caveats.map(({ kind, message }) => [kind, message.replaceAll(site.origin, '')]) ?? [];

  it('that shows no text, control or picture is not rendered, and no duplicate of another', async () => {
    const root = '<div id="root"></div>';
    await open({
      '/error': pageOf(`${root}${script('document.getElementById("root").append(texts.title)')}`),
      '/error-again': pageOf(`${root}${script('document.getElementById("root").append(texts.title)')}`),
      '/bundle': pageOf(`${root}<script src="/_bundle.js?v=1"></script>`),
      '/module': pageOf(`${root}<script type="module" src="/_module.js"></script>`),
      '/_module.js': pageOf(root),
      '/empty': pageOf(
        `<a href="#main" style="position:absolute;left:-9999px">Skip</a><h1 style="position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0 0 0 0)">App</h1>
         <img alt="" src="/_pixel" width="1" height="1"><svg style="display:none"><text>x</text></svg><input type="hidden" value="x"><noscript>Turn on scripts.</noscript>
         <iframe title="t" style="width:0;height:0;border:0"></iframe><p hidden>x</p><template><p>x</p></template><custom-element><template shadowrootmode="open"><p hidden>x</p></template></custom-element>`,
      ),
      '/_pixel': file('image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'),
      '/transparent': pageOf(`<p>text</p>${FAULT}`, '<style>body { opacity: 0 }</style>'),
    });
    const { pages } = await scan(`${site.origin}/`);
    const messages = pages.flatMap((page) => (page.tested ? [] : [[new URL(page.url).pathname, page.reason, page.message] as const]));
    for (const [path, reason, message] of messages) {
      expect(reason, path).to.equal('not_rendered');
      expect(message, path).to.include('The page shows no visible text, control or picture.');
    }
    expect(messages.map(([path]) => path)).to.deep.equal(['/error', '/error-again', '/bundle', '/module', '/empty', '/transparent']);
    const message = (path: string): string => untested(pages, path).message;
    expect(message('/error')).to.include('An error was not caught: ReferenceError: texts is not defined.');
    expect(message('/bundle')).to.include(`A script did not load: ${site.origin}/_bundle.js (status 404).`);
    expect(message('/module')).to.include(`A script did not load: ${site.origin}/_module.js (not used).`);
    expect(message('/empty')).to.equal(
      'The page shows no visible text, control or picture. Open it in a browser, and check its scripts and what they request.',
    );
  });

  it('that shows only a picture, a control or text in a shadow root is rendered', async () => {
    const bodies = {
      background: '<div style="background:url(/_icon.svg);height:200px"></div>',
      canvas: '<canvas></canvas>',
      control: '<input aria-label="x">',
      frame: '<iframe title="f" srcdoc="<html lang=en><title>x</title><p>x"></iframe>',
      generated: '<style>p::before { content: "text" }</style><p></p>',
      icon: '<svg role="img" aria-label="x"><circle r="50"/></svg>',
      missing: FAULT,
      shadow: '<custom-element><template shadowrootmode="open"><p>text</p></template></custom-element>',
      shadowText: '<custom-element><template shadowrootmode="open">text</template></custom-element>',
    };
    await open({
      ...Object.fromEntries(Object.entries(bodies).map(([name, body]) => [`/${name}`, pageOf(body, '', name)])),
      '/frames': file('text/html', '<html lang="en"><title>frames</title><frameset cols="*"><frame title="f" src="/_framed"></frameset>'),
      '/_framed': html(''),
      '/_icon.svg': file('image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"/>'),
    });
    const { pages } = await scan(`${site.origin}/`);
    expect(paths(testedOf(pages))).to.have.members(['/', '/frames', ...Object.keys(bodies).map((name) => `/${name}`)]);
  });

  it('without visible content of its own is no duplicate of another', async () => {
    const shell = (more: string, title = 'Library'): Route =>
      pageOf(`<header><p>Library</p></header><main>${more}</main>${FAULT}`, '', title);
    await open({
      '/empty-1': shell('<div id="app"></div>'),
      '/empty-2': shell('<div id="app"></div>'),
      '/same-1': shell('<p>text</p>'),
      '/same-2': shell('<p>text</p>'),
    });
    const { pages } = await scan(`${site.origin}/`);
    expect(paths(testedOf(pages))).to.deep.equal(['/', '/empty-1', '/empty-2', '/same-1']);
    expect(untested(pages, '/same-2').reason).to.equal('same_as');
  });

  it('that shows nothing fails the scan as its first page', async () => {
    await open({ '/app': pageOf('<div id="root"></div>') });
    const error = await failureOf(scan(`${site.origin}/app`));
    expect(error).to.include({ reason: 'nothing_shown' });
    expect(error.message).to.include('shows no visible text');
  });

  it('has a caveat for scripts and style sheets that did not load, and for uncaught errors', async () => {
    const part = (path: string): string => `<script src="${path}"></script>`;
    await open({
      '/scripts': html(`${FAULT}${['/_d.js', '/_b.js?secret=1', '/_a.js', '/_c.js'].map(part).join('')}`, { title: 'scripts' }),
      '/_c.js': (request) => request.socket.destroy(),
      '/errors': html(script('setTimeout(() => { throw new TypeError("late") }, 20); Promise.reject(new Error("rejected")); missing()'), {
        title: 'errors',
      }),
      '/source': html(part('/_broken.js?v=1'), { title: 'source' }),
      '/_broken.js': file('text/javascript', 'import {'),
      '/styles': html('', {
        title: 'styles',
        head: '<link rel="stylesheet" href="/_missing.css"><link rel="stylesheet" href="/_page.css"><link rel="stylesheet" href="/_good.css">',
      }),
      '/_page.css': pageOf('not a style sheet'),
      '/_good.css': file('text/css', 'p { color: #000 }'),
      '/harmless': html(
        script(`
          const controller = new AbortController();
          fetch('/_never', { signal: controller.signal }).catch(() => 0); controller.abort();
          document.body.append(Object.assign(document.createElement('video'), { src: '/_video', muted: true, ariaLabel: 'v' })); document.querySelector('video').play();
          const handled = Promise.reject(new Error('handled')); setTimeout(() => handled.catch(() => 0), 10);
          addEventListener('error', () => 0); console.error('only logged');
          const image = new Image(); image.src = '/_missing.png';`),
        { title: 'harmless' },
      ),
      '/_never': () => undefined,
      '/moved': html(`${part('/_missing.js')}${script('addEventListener("load", () => location.replace("/arrived"))')}`),
      '/arrived': html('', { title: 'arrived' }),
    });
    const { pages } = await scan(`${site.origin}/`);
    const end = 'The page was tested without what they would have shown.';
    expect(caveatsOf(pages, '/scripts')).to.deep.equal([
      ['script_failed', `4 scripts did not load: /_a.js (status 404), /_b.js (status 404), /_c.js (unreachable) and 1 more. ${end}`],
    ]);
    expect(found(testedOf(pages).find(({ url }) => url.endsWith('/scripts')))).to.deep.equal(['image-alt #fault']);
    expect(caveatsOf(pages, '/errors')).to.deep.equal([
      ['script_failed', `3 uncaught errors: Error: rejected, ReferenceError: missing is not defined, TypeError: late. ${end}`],
    ]);
    expect(caveatsOf(pages, '/source')[0]?.[1]).to.match(/^1 uncaught error: SyntaxError: .* \(\/_broken\.js\)\. /);
    expect(caveatsOf(pages, '/styles')).to.deep.equal([
      [
        'style_failed',
        '2 style sheets did not load: /_missing.css (status 404), /_page.css (text/html). The page was tested without them.',
      ],
    ]);
    expect(caveatsOf(pages, '/harmless')).to.deep.equal([]);
    expect(caveatsOf(pages, '/moved')).to.deep.equal([]);
  });

  it('has a caveat for data of its site that did not load, however often it asks for it', async () => {
    const app = (code: string, title: string): string =>
      html(`<p id="state">Loading</p>${script(`const show = (text) => (document.getElementById('state').textContent = text); ${code}`)}`, {
        title,
      });
    const other = await openSite({
      '/data': answer(500, { 'access-control-allow-origin': '*' }),
      '/cut': (request) => request.socket.destroy(),
    });
    try {
      await open({
        '/fetch': app(`fetch('/_data?page=1').then((response) => show(response.ok ? 'ok' : 'Something went wrong'))`, 'fetch'),
        '/request': app(
          `const request = new XMLHttpRequest(); request.open('GET', '/_data'); request.onload = () => show('failed'); request.send()`,
          'request',
        ),
        '/again': app(
          `let times = 0; const ask = () => fetch('/_data?' + times).then(() => { show(times); if (++times < 5) setTimeout(ask, 10) }); ask()`,
          'again',
        ),
        '/uncaught': app(`fetch('${other.origin}/cut')`, 'uncaught'),
        '/other-uncaught': app(`fetch('${other.origin.replace('127.0.0.1', 'localhost')}/cut')`, 'other-uncaught'),
        '/other': app(`fetch('${other.origin.replace('127.0.0.1', 'localhost')}/data').then(() => show('other'))`, 'other'),
        '/_data': answer(500),
      });
      const { pages } = await scan(`${site.origin}/`);
      const end = 'The page was tested without what they would have shown.';
      for (const path of ['/fetch', '/request', '/again'])
        expect(caveatsOf(pages, path), path).to.deep.equal([['data_failed', `1 data request failed: /_data (status 500). ${end}`]]);
      expect(caveatsOf(pages, '/uncaught')).to.deep.equal([
        ['data_failed', `1 data request failed: ${other.origin}/cut (not loaded). ${end}`],
      ]);
      expect(caveatsOf(pages, '/other')).to.deep.equal([]);
      expect(caveatsOf(pages, '/other-uncaught').map(([kind]) => kind)).to.deep.equal(['script_failed']);
    } finally {
      await other.close();
    }
  });

  it('has a caveat for requests that the egress rules refused, and no other for them', async () => {
    const other = await openSite({});
    const away = other.origin.replace('127.0.0.1', '127.0.0.2');
    try {
      await open({
        '/refused': html(
          `<script src="${away}/script.js?secret"></script><img alt="" src="${away}/image.png">${script(`fetch('${away}/data').then((response) => response.json())`)}`,
          { title: 'refused', head: `<link rel="stylesheet" href="https://127.0.0.2:${other.port}/style.css">` },
        ),
      });
      const { pages } = await scan(`${site.origin}/`, {}, { allowTargets: [`127.0.0.1:${site.port}`] });
      expect(caveatsOf(pages, '/refused').map(([kind, message]) => [kind, message.replaceAll(away, 'AWAY')])).to.deep.equal([
        [
          'request_refused',
          `4 requests were refused: AWAY/data, AWAY/image.png, AWAY/script.js and 1 more. The scanner may not reach these addresses. An operator of the installation can allow them.`,
        ],
      ]);
      expect(other.requests).to.deep.equal([]);
    } finally {
      await other.close();
    }
  });
});
