import { expect } from 'chai';
import { XMLParser } from 'fast-xml-parser';
import { plantedFaults, startDemoSite, type DemoSite } from '../../../demo-site/server.ts';

const listed = plantedFaults();

describe('demo site', () => {
  let site: DemoSite;
  const get = (path: string, init?: RequestInit) => fetch(site.url + path, { redirect: 'manual', ...init });

  before(async () => {
    site = await startDemoSite({ slowMs: 0 });
  });
  after(() => site.close());

  it('has at least 60 pages in two languages, with faults of every impact and pages without faults', () => {
    const paths = Object.keys(listed);
    expect(paths.length).to.be.at.least(60);
    expect(paths.filter((path) => path.startsWith('/en/')).length).to.equal(paths.filter((path) => path.startsWith('/de/')).length);
    const flaws = Object.values(listed).flat();
    expect([...new Set(flaws.map(({ impact }) => impact))].sort()).to.deep.equal(['critical', 'minor', 'moderate', 'serious']);
    expect(Object.values(listed).filter((page) => page.length === 0).length).to.be.at.least(10);
  });

  it('serves every page with and without the trailing slash, with a canonical link', async () => {
    for (const path of Object.keys(listed)) {
      const [whole, bare] = await Promise.all([get(path), get(path.slice(0, -1))]);
      expect([whole.status, bare.status, whole.headers.get('content-type')], path).to.deep.equal([200, 200, 'text/html; charset=utf-8']);
      const html = await whole.text();
      expect(html).to.contain(`<link rel="canonical" href="${site.url}${path}" />`);
      expect(await bare.text()).to.equal(html);
    }
  });

  it('has only the intended broken links', async () => {
    const broken = new Set<string>();
    const seen = new Set<string>();
    for (const path of Object.keys(listed))
      for (const [, link] of (await (await get(path)).text()).matchAll(/(?:href|src|poster|data)="(\/[^"#?]*)"/g)) {
        if (seen.has(link!)) continue;
        seen.add(link!);
        const { status } = await get(link!);
        if (status >= 400) broken.add(`${status} ${link}`);
      }
    expect([...broken].sort()).to.deep.equal([
      '404 /de/termine/summer-fete-2019/',
      '404 /en/events/summer-fete-2019/',
      '500 /de/raeume/calendar/',
      '500 /en/rooms/calendar/',
    ]);
  });

  it('uses no resources of other hosts', async () => {
    for (const path of Object.keys(listed)) {
      const html = (await (await get(path)).text()).replaceAll(site.url, '').replaceAll('http://www.w3.org/2000/svg', '');
      expect(html, path).not.to.match(/(?:https?:)?\/\/[a-z0-9]/i);
    }
  });

  it('has robots.txt and a sitemap index that lists every page', async () => {
    const robots = await (await get('/robots.txt')).text();
    expect(robots).to.contain(`Sitemap: ${site.url}/sitemap.xml`).and.to.contain('Disallow: /staff/');
    const parser = new XMLParser();
    const parse = async (path: string) => parser.parse(await (await get(path)).text()) as never;
    const index = (await parse('/sitemap.xml')) as { sitemapindex: { sitemap: { loc: string }[] } };
    const maps = (await Promise.all(index.sitemapindex.sitemap.map(({ loc }) => parse(new URL(loc).pathname)))) as {
      urlset: { url: { loc: string }[] };
    }[];
    const pages = maps.flatMap(({ urlset }) => urlset.url.map(({ loc }) => new URL(loc).pathname));
    expect(pages.sort()).to.deep.equal(
      Object.keys(listed)
        .filter((path) => !/thank-you|danke/.test(path))
        .sort(),
    );
  });
});
