/** A gate that a site shows instead of its pages is tested once, and the pages are listed as not tested. */
import { expect } from 'chai';
import type { ReportPage } from '../../report/schema/page.ts';
import { FAULT, file, found, html, openSite, paths, redirect, scan, testedOf, untested, type Route, type Site } from './site.ts';

const GATE = `${FAULT}<p>Are you 18 or older?</p><a href="#main">Skip</a><a href="#">Top</a><a href="/gate?lang=de">Deutsch</a><form action="/enter"><button>Yes</button></form>`;
const states = (pages: readonly ReportPage[]): string[] =>
  pages.map((page, at) => `${paths(pages)[at]} ${page.tested ? 'tested' : page.reason}`);

describe('a gate', () => {
  let site: Site;
  afterEach(() => site.close());
  const sitemap =
    (origin: () => string, names: readonly string[]): Route =>
    (_request, response) =>
      response
        .writeHead(200, { 'content-type': 'application/xml' })
        .end(
          `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${names.map((path) => `<url><loc>${origin()}${path}</loc></url>`).join('')}</urlset>`,
        );

  const WAYS: Record<string, (path: string) => Route> = {
    'a redirect with the address to return to': (path) => redirect(`/gate?return=${encodeURIComponent(path)}`),
    'a router': () =>
      html(
        `<div id="app"></div><script>history.replaceState(null, '', '/gate'); document.title = 'Gate'; document.getElementById('app').innerHTML = ${JSON.stringify(GATE)}</script>`,
      ),
  };
  for (const [name, way] of Object.entries(WAYS))
    it(`that every address leads to by ${name} is tested once`, async () => {
      const names = ['/wines', '/beers', '/contact'];
      site = await openSite({
        ...Object.fromEntries(['/', ...names].map((path) => [path, way(path)])),
        '/gate': file('text/html', html(GATE, { title: 'Gate' })),
        '/gate?lang=de': html('Wie alt sind Sie?', { title: 'Tor' }),
        '/sitemap.xml': sitemap(() => site.origin, names),
      });
      const { pages } = await scan(`${site.origin}/`, {}, { workers: 4 });
      expect(found(testedOf(pages)[0])).to.deep.equal(['image-alt #fault']);
      expect(untested(pages, '/wines').message).to.include(`It redirects to ${site.origin}/gate,`).and.to.include('crawl.prepare');
      expect(states(pages).filter((state) => !state.startsWith('/gate?'))).to.deep.equal([
        '/gate tested',
        '/ redirected_to_gate',
        ...names.map((path) => `${path} redirected_to_gate`),
      ]);
    });

  it('is no page that is linked, and no start page', async () => {
    site = await openSite({
      '/': redirect('/en/'),
      '/en/': html('<a href="/old">1</a><a href="/older">2</a><a href="/index.html">3</a><a href="/page">4</a>'),
      '/index.html': redirect('/en/'),
      '/old': redirect('/new'),
      '/older': redirect('/new'),
      '/new': html('', { title: 'new' }),
      // Named only after the pages that lead to it were processed.
      '/page': html('<a href="/new">new</a>', { title: 'page' }),
    });
    const { pages } = await scan(`${site.origin}/`);
    expect(states(pages)).to.deep.equal(['/ tested', '/old tested', '/older same_as', '/index.html same_as', '/page tested']);
  });
});
