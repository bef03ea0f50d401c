/**
 * Results are a function of the site: generated sites give the same pages, findings, scores and caveats with any number of
 * workers, and whatever the delay of their answers. DETERMINISM_SITES sets the number of sites, DETERMINISM_SEED the first one;
 * by default a few sites that have every kind of part together, with `NIGHTLY=1` fifty.
 */
import { spawn } from 'node:child_process';
import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import type { ReportPage } from '../../report/schema/page.ts';
import { nightly } from '../support/nightly.ts';
import { createRandom } from '../support/random.ts';
import { openGeneratedSite, PARTS } from './fixtures/generated-site.ts';
import { REST_MS } from '../../scanner-image/page/visit/looks.ts';
import { found, scan } from './site.ts';

/** The time between two looks as in a scan of a user. */
const FULL = { restMs: REST_MS };
const SITES = Number(process.env.DETERMINISM_SITES ?? nightly(4, 50));
const FIRST_SEED = Number(process.env.DETERMINISM_SEED ?? nightly(104, 1));
const WORKERS = nightly([4], [1, 2, 4]);
/** Sites that are scanned at the same time. Most of the time a scan waits for delayed answers. */
const SIDE_BY_SIDE = 3;

/** What a scan reports, without durations and places, which describe a moment. */
async function resultsOf(url: string, workers: number): Promise<{ pages: ReportPage[]; addressesLeft: number }> {
  const { pages, addressesLeft } = await scan(url, { maxPages: 8 }, { workers, pageBudgetMs: 60_000 }, FULL);
  return { addressesLeft, pages: pages.map((page) => withoutPlaces({ ...page, duration_ms: 0 })) };
}

const withoutPlaces = (page: ReportPage): ReportPage =>
  JSON.parse(JSON.stringify(page), (name, value: unknown) => (name === 'box' || name === 'size' ? undefined : value)) as ReportPage;

/** A page in one line, for the message of a failure. */
function lineOf(page: ReportPage): string {
  const path = new URL(page.url).pathname;
  if (!page.tested) return `${path} ${page.reason}: ${page.message}`;
  const gaps = [...page.caveats.map(({ kind, message }) => `${kind} (${message})`), ...page.frames_untested.map(({ reason }) => reason)];
  return [path, ...found(page), ...gaps].join(', ');
}

/**
 * @param parts gets the kinds of parts of the site
 * @returns what differs between the scans of a site, with its seed; null if they are equal
 */
async function compare(seed: number, parts: Set<string>): Promise<string | null> {
  const site = await openGeneratedSite(seed);
  for (const part of site.parts) parts.add(part);
  try {
    const first = await resultsOf(site.origin, 1);
    for (const workers of WORKERS) {
      site.delayBy(createRandom(seed * 100 + workers));
      const other = await resultsOf(site.origin, workers);
      if (isDeepStrictEqual(other, first)) continue;
      const [before, after] = [first, other].map(({ pages }) => pages.map(lineOf));
      const differs = before!.flatMap((line, at) => (line === after![at] ? [] : [`  ${line}\n  ${after![at]}`]));
      return `seed ${seed} with ${workers} workers:\n${differs.join('\n')}`;
    }
    return null;
  } finally {
    await site.close();
  }
}

/** @returns what differs between the scans of sites, and the kinds of parts that they have */
async function compareAll(sites: number): Promise<{ differences: string[]; parts: Set<string> }> {
  const seeds = Array.from({ length: sites }, (_, at) => FIRST_SEED + at);
  const differences: string[] = [];
  const parts = new Set<string>();
  const work = async (): Promise<void> => {
    for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
      const difference = await compare(seed, parts);
      if (difference !== null) differences.push(difference);
      if (process.env.DETERMINISM_SHOW) console.log(seed, difference ?? 'equal');
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work));
  return { differences, parts };
}

describe('the results of a scan', () => {
  it(`are the same for ${SITES} generated sites with ${WORKERS.join(', ')} workers and answers delayed by up to 2 s`, async () => {
    const { differences, parts } = await compareAll(SITES);
    expect(differences.join('\n')).to.equal('');
    if (process.env.DETERMINISM_SITES === undefined) expect([...parts]).to.have.members(Object.keys(PARTS));
  }).timeout(60_000 * Math.max(10, SITES));

  for (const loops of nightly([], [12]))
    it(`are the same on a machine with ${loops} busy loops`, async () => {
      const busy = Array.from({ length: loops }, () => spawn(process.execPath, ['-e', 'for (;;);']));
      try {
        expect((await compareAll(3)).differences.join('\n')).to.equal('');
      } finally {
        for (const loop of busy) loop.kill();
      }
    }).timeout(60_000 * 40);
});
