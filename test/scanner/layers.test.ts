/** Layers that keep visitors from the content of a page are a caveat; layers that do not are none. */
import { expect } from 'chai';
import type { PageCaveat, TestedPage } from '../../report/schema/page.ts';
import { BLOCKED, IN_USE } from './fixtures/layers.ts';
import { html, openSite, scan, testedOf, type Route, type Site } from './site.ts';

describe('content behind a layer', () => {
  let site: Site;
  afterEach(() => site.close());

  /** The pages by their names. Their frames come from another site. */
  async function scanPages(bodies: Readonly<Record<string, string>>): Promise<Map<string, TestedPage>> {
    const pathOf = (name: string): string => `/${name.replace(/\W+/g, '-')}`;
    const names = Object.keys(bodies);
    site = await openSite({
      '/': html(names.map((name) => `<p><a href="${pathOf(name)}">${name}</a></p>`).join('')),
      '/ask': html('<p>We use cookies.</p><button>Accept</button>'),
      ...Object.fromEntries(
        names.map((name): [string, Route] => [
          pathOf(name),
          (_request, response) =>
            response
              .writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
              .end(
                `<!doctype html><html lang="en"><head><title>${name}</title></head><body>${bodies[name]!.replaceAll('OTHER', `http://localhost:${site.port}`)}</body></html>`,
              ),
        ]),
      ),
    });
    const { pages } = await scan(`${site.origin}/`, { maxPages: names.length + 1 });
    return new Map(testedOf(pages).map((page) => [page.title, page]));
  }

  const blockedOf = (page: TestedPage | undefined): PageCaveat | undefined => page?.caveats.find(({ kind }) => kind === 'content_blocked');

  it('is a caveat that names the layer', async () => {
    const pages = await scanPages(Object.fromEntries(Object.entries(BLOCKED).map(([name, [body]]) => [name, body])));
    const messages = Object.fromEntries(Object.keys(BLOCKED).map((name) => [name, blockedOf(pages.get(name))?.message ?? 'no caveat']));
    for (const [name, [, names]] of Object.entries(BLOCKED)) {
      expect(messages[name], name).to.include(names);
      expect(messages[name], name).to.include('crawl.prepare');
    }
  });

  it('is no caveat on pages that are in use', async () => {
    const pages = await scanPages(IN_USE);
    const messages = Object.fromEntries(Object.keys(IN_USE).map((name) => [name, pages.get(name)?.caveats.map(({ message }) => message)]));
    expect(messages).to.deep.equal(Object.fromEntries(Object.keys(IN_USE).map((name) => [name, []])));
  });
});
