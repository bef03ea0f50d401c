/** A whole scan of the demo site finds exactly the faults that it is known to have, on every page. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { startDemoSite, type DemoSite } from '../../local/demo-site/server.ts';
import { scan } from './site.ts';

interface Faults {
  pages: Record<string, { rule: string; impact: string; elements: number }[]>;
}
const faults = JSON.parse(readFileSync(join(import.meta.dirname, '../../local/demo-site/faults.json'), 'utf8')) as Faults;

describe('the scan of the demo site', () => {
  let site: DemoSite;
  before(async () => (site = await startDemoSite({ slowMs: 0 })));
  after(() => site.close());

  it('finds what faults.json says, and no more', async () => {
    const { pages } = await scan(
      `${site.url}/`,
      { maxPages: 200 },
      { workers: 2, pageBudgetMs: 30_000, deadline: new Date(Date.now() + 240_000).toISOString() },
    );
    const found = Object.fromEntries<unknown>(
      // It has dead links and pages that fail, which are no page's fault.
      pages
        .filter((page) => page.tested || page.reason !== 'http_error')
        .map((page) => [
          // One page is linked without its last slash too; which of the two addresses is met first is the site's affair.
          new URL(page.final_url ?? page.url).pathname.replace(/\/?$/, '/'),
          page.tested
            ? page.violations
                .map(({ rule, impact, nodes }) => ({ rule, impact, elements: nodes.length }))
                .sort((a, b) => (a.rule < b.rule ? -1 : 1))
            : `${page.reason}: ${page.message}`,
        ]),
    );
    // Its robots.txt keeps the two pages that thank for a form out.
    const allowed = Object.entries(faults.pages).filter(([path]) => !/\/(thank-you|danke)\/$/.test(path));
    const listed = Object.fromEntries(allowed.map(([path, page]) => [path, [...page].sort((a, b) => (a.rule < b.rule ? -1 : 1))]));
    const paths = [...new Set([...Object.keys(found), ...Object.keys(listed)])].sort();
    // Only what differs: the whole of both is too long for mocha to show where.
    expect(
      paths
        .map((path) => ({ path, found: found[path], listed: listed[path] }))
        .filter(({ found, listed }) => !isDeepStrictEqual(found, listed)),
    ).to.deep.equal([]);
  }).timeout(240_000);
});
