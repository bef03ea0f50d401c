/** A scan of the demo site finds exactly its known faults, each rule on the first page that has it; at night, on every page. */
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { isAttempted } from '../../report/results/score.ts';
import { plantedFaults, startDemoSite, type DemoSite } from '../../demo-site/server.ts';
import { nightly } from '../support/nightly.ts';
import { scan } from './site.ts';

/** robots.txt disallows the two thank-you pages. */
const PLANTED = Object.entries(plantedFaults()).filter(([path]) => !/\/(thank-you|danke)\/$/.test(path));
const firstOfARule = ([path, faults]: (typeof PLANTED)[number], at: number, all: typeof PLANTED): boolean =>
  path.startsWith('/en/') && faults.some(({ rule }) => !all.slice(0, at).some(([, before]) => before.some((fault) => fault.rule === rule)));
const LISTED = PLANTED.filter(nightly(firstOfARule, () => true));

describe('scan of the demo site', () => {
  let site: DemoSite;
  before(async () => (site = await startDemoSite({ slowMs: 0 })));
  after(() => site.close());

  it('finds exactly the faults that the pages declare', async () => {
    const { pages } = await scan(
      `${site.url}/`,
      {
        maxPages: 200,
        crawl: {
          include: nightly(
            LISTED.map(([path]) => path),
            [],
          ),
        },
      },
      { workers: 2, pageBudgetMs: 30_000, deadline: new Date(Date.now() + 240_000).toISOString() },
    );
    const found = Object.fromEntries<unknown>(
      // The site has dead links and failing pages on purpose, and addresses that redirect or that robots.txt disallows.
      pages
        .filter((page) => page.tested || (isAttempted(page.reason) && page.reason !== 'http_error'))
        .map((page) => [
          // One page is linked with and without its trailing slash; either may be found first.
          new URL(page.final_url ?? page.url).pathname.replace(/\/?$/, '/'),
          page.tested
            ? page.violations
                .map(({ rule, impact, nodes }) => ({ rule, impact, elements: nodes.length }))
                .sort((a, b) => (a.rule < b.rule ? -1 : 1))
            : `${page.reason}: ${page.message}`,
        ]),
    );
    const listed: Record<string, unknown> = Object.fromEntries(LISTED);
    const paths = [...new Set([...Object.keys(found), ...Object.keys(listed)])].sort();
    // Compares the differences only, because mocha cannot display both lists completely.
    expect(
      paths
        .map((path) => ({ path, found: found[path], listed: listed[path] }))
        .filter(({ found, listed }) => !isDeepStrictEqual(found, listed)),
    ).to.deep.equal([]);
  }).timeout(240_000);
});
