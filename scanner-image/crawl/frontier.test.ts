import { expect } from 'chai';
import fc from 'fast-check';
import { addressOf, type PageAddress } from './address.ts';
import { SPARE_WORKERS } from './crawl.ts';
import { createFrontier, type Candidate, type Frontier, type Outcome } from './frontier.ts';

const page = (name: string): PageAddress => addressOf(new URL(`https://example.org/${name}`));
const open = (maxPages: number, maxFailed = 100, maxLeftOut = 100): Frontier => createFrontier({ maxPages, maxFailed, maxLeftOut });
/** The largest number of pages at once: 8 workers (core/protocol/pod-messages.ts), and the spare ones. */
const WORKERS_MAX = 8 + SPARE_WORKERS.site + SPARE_WORKERS.rest;

/**
 * Walks a generated site with several workers; `random` decides which worker finishes next.
 * @returns the candidates in the order in which they were processed, with their outcomes
 */
function walk(
  site: Map<string, { links: string[]; end: 'tested' | 'failed' | 'left_out'; leadsTo?: string }>,
  start: string,
  frontier: Frontier,
  workers: number,
  random: () => number,
): string[] {
  const processed: string[] = [];
  const inProgress: Candidate[] = [];
  const arrived = new Map<number, Candidate>();
  let index = 0;
  frontier.add(page(start), 0);
  for (;;) {
    while (inProgress.length < workers) {
      const candidate = frontier.take();
      if (candidate === null) break;
      inProgress.push(candidate);
      if (candidate.index === 0) break;
    }
    if (inProgress.length === 0) break;
    const [finished] = inProgress.splice(Math.floor(random() * inProgress.length), 1);
    if (finished === undefined) break;
    arrived.set(finished.index, finished);
    for (let next = arrived.get(index); next !== undefined; next = arrived.get(index)) {
      arrived.delete(index);
      index += 1;
      const outcome = process(next);
      frontier.settle(next, outcome, outcome === 'failed');
    }
  }
  return processed;

  function process(candidate: Candidate): Outcome {
    if (frontier.covered(candidate.key) || frontier.spent()) return 'skipped';
    const name = candidate.url.pathname.slice(1) + candidate.url.search;
    const known = site.get(name) ?? { links: [], end: 'failed' as const };
    processed.push(`${name} ${known.end}`);
    if (known.end !== 'tested') return known.end;
    if (known.leadsTo !== undefined && known.leadsTo !== name) {
      const { key } = page(known.leadsTo);
      processed.pop();
      if (frontier.covered(key)) return 'left_out';
      frontier.cover(key);
      processed.push(`${name} as ${known.leadsTo}`);
    }
    for (const link of known.links) frontier.add(page(link), candidate.depth + 1);
    return 'tested';
  }
}

describe('frontier', () => {
  it('returns each page once, in the order of discovery', () => {
    const frontier = open(10);
    expect([frontier.add(page('a'), 0), frontier.add(page('b'), 1), frontier.add(page('a/'), 1)]).to.deep.equal([
      'queued',
      'queued',
      'known',
    ]);
    expect([frontier.take()?.url.pathname, frontier.take()?.url.pathname, frontier.take()]).to.deep.equal(['/a', '/b', null]);
  });

  it('starts at most as many pages as may still be tested', () => {
    const frontier = open(2);
    for (const name of ['a', 'b', 'c', 'd']) frontier.add(page(name), 0);
    const [a, b] = [frontier.take(), frontier.take()];
    expect(frontier.take()).to.equal(null);
    frontier.settle(a as Candidate, 'failed');
    expect(frontier.take()?.url.pathname).to.equal('/c');
    frontier.settle(b as Candidate, 'tested');
    expect(frontier.take()).to.equal(null);
    expect([frontier.counts(), frontier.spent()]).to.deep.equal([{ tested: 1, failed: 1, total: 3 }, false]);
    // One page, and the one in progress.
    expect(frontier.left()).to.equal(2);
  });

  it('ends after too many failures', () => {
    const frontier = open(5, 2);
    for (const name of ['a', 'b', 'c']) frontier.add(page(name), 0);
    frontier.settle(frontier.take() as Candidate, 'failed');
    frontier.settle(frontier.take() as Candidate, 'failed');
    expect(frontier.spent()).to.equal(true);
    expect(frontier.take()).to.equal(null);
    expect(frontier.complete()).to.equal(true);
  });

  it('accepts outcomes only in the order of their indices', () => {
    const frontier = open(5);
    frontier.add(page('a'), 0);
    frontier.add(page('b'), 0);
    frontier.take();
    const b = frontier.take() as Candidate;
    expect(() => frontier.settle(b, 'tested')).to.throw(RangeError, 'expected index 0');
  });

  it('returns the same pages in the same order with any number of workers', () => {
    const someNames = Array.from({ length: 24 }, (_, at) => ['p', 'news/n', 'shop/items/i', 'list?page='][at % 4]! + String(at));
    // The others are spellings of these.
    const names = someNames.flatMap((name, at) => (at % 4 < 3 ? [name, `${name}/`] : [name]));
    const anySite = fc.array(
      fc.record({
        links: fc.array(fc.constantFrom(...names), { maxLength: 8 }),
        end: fc.constantFrom('tested' as const, 'tested' as const, 'failed' as const, 'left_out' as const),
        leadsTo: fc.option(fc.constantFrom(...names), { nil: undefined, freq: 3 }),
      }),
      { minLength: names.length, maxLength: names.length },
    );
    fc.assert(
      fc.property(
        anySite,
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 30 }),
        fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })),
        (pages, maxPages, maxFailed, maxLeftOut, random) => {
          const site = new Map(pages.map((generated, at) => [names[at] ?? '', generated]));
          const alone = walk(site, 'p0', open(maxPages, maxFailed, maxLeftOut), 1, () => 0);
          for (const workers of [2, 4, WORKERS_MAX])
            expect(walk(site, 'p0', open(maxPages, maxFailed, maxLeftOut), workers, () => random.next().value as number)).to.deep.equal(
              alone,
            );
        },
      ),
      { numRuns: 500 },
    );
  });

  it('returns the same pages in the same order in a large scan too, whose choices look back further', () => {
    const names = Array.from({ length: 400 }, (_, at) => ['p', 'news/n', 'shop/items/i', 'list?page='][at % 4]! + String(at));
    const anyPage = fc.record({
      links: fc.array(fc.constantFrom(...names), { maxLength: 4 }),
      end: fc.constantFrom(...Array<'tested'>(8).fill('tested'), 'failed' as const, 'left_out' as const),
      leadsTo: fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.constantFrom(...names) }),
    });
    fc.assert(
      fc.property(
        fc.array(anyPage, { minLength: names.length, maxLength: names.length }),
        fc.integer({ min: 200, max: 300 }),
        fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })),
        (pages, maxPages, random) => {
          const site = new Map(pages.map((generated, at) => [names[at] ?? '', generated]));
          // Most pages are found late, by the pages that the first one leads to.
          site.set('p0', { links: names.slice(0, 60), end: 'tested', leadsTo: undefined });
          const alone = walk(site, 'p0', open(maxPages), 1, () => 0);
          fc.pre(alone.length > 150);
          for (let workers = 2; workers <= WORKERS_MAX; workers++)
            expect(walk(site, 'p0', open(maxPages), workers, () => random.next().value as number)).to.deep.equal(alone);
        },
      ),
      { numRuns: 30 },
    );
  });

  for (const [slow, others] of [
    [1, 8],
    [30, 30],
    [50, 50],
    [200, 64],
  ] as const)
    it(`returns ${others} pages more while that of position ${slow} is slow`, () => {
      const frontier = open(500);
      frontier.add(page('start'), 0);
      for (let position = 0; position < slow; position++) {
        const candidate = frontier.take() as Candidate;
        for (let link = 0; position === 0 && link < 400; link++) frontier.add(page(`p${link}`), 1);
        frontier.settle(candidate, 'tested');
      }
      const inProgress: (Candidate | null)[] = [frontier.take()];
      while (inProgress.at(-1) !== null) inProgress.push(frontier.take());
      expect(inProgress[0]?.index).to.equal(slow);
      expect(inProgress).to.have.length(1 + others + 1);
    });

  /** Takes and settles pages one after the other, and adds what each leads to. */
  function crawl(
    frontier: Frontier,
    start: string,
    linksOf: (name: string) => string[],
    outcome: (name: string) => Outcome = () => 'tested',
  ) {
    const taken: string[] = [];
    const added: string[] = [];
    const totals: number[] = [];
    frontier.add(page(start), 0);
    for (let next = frontier.take(); next !== null; next = frontier.take()) {
      const name = next.url.href.slice('https://example.org/'.length);
      taken.push(name);
      for (const link of linksOf(name)) added.push(`${link} ${frontier.add(page(link), next.depth + 1)}`);
      frontier.settle(next, outcome(name), outcome(name) === 'failed');
      totals.push(frontier.counts().total);
    }
    return { taken, added, totals };
  }

  it('takes pages of all templates, if there are more than it may test', () => {
    const links = [
      ...Array.from({ length: 100 }, (_, at) => `news/story-${at}`),
      ...Array.from({ length: 100 }, (_, at) => `shop/item-${at}`),
      'about',
      'contact',
      'jobs/1/apply',
    ];
    const { taken } = crawl(open(13), '', (name) => (name === '' ? links : []));
    expect(taken).to.have.length(13);
    expect(taken).to.include.members(['about', 'contact', 'jobs/1/apply', 'shop/item-0', 'news/story-0']);
    // Every second page is the next one breadth first.
    expect(taken.filter((name) => name.startsWith('news/'))).to.have.length.within(6, 8);
  });

  it('takes pages breadth first, if their addresses have nothing in common', () => {
    const { taken } = crawl(open(9), 'a', (name) => (name === 'a' ? ['b', 'c', 'd'] : name.length < 2 ? [`${name}x`, `${name}y`] : []));
    expect(taken).to.deep.equal(['a', 'b', 'c', 'd', 'bx', 'by', 'cx', 'cy', 'dx']);
  });

  it('follows 50 links in a row within a template, such as the months of a calendar', () => {
    const month = (name: string): number => Number(name.split('-')[1] ?? 0);
    const { taken, added } = crawl(open(500), '', (name) => [`calendar/month-${month(name) + 1}`]);
    expect(taken).to.have.length(52);
    expect(added.at(-1)).to.equal('calendar/month-52 endless');
  });

  it('leaves a template after ten pages in a row were left out, and counts the rest', () => {
    const frontier = open(500, 500, 500);
    const { taken } = crawl(
      frontier,
      '',
      (name) =>
        name === ''
          ? [...Array.from({ length: 40 }, (_, at) => `same/${at}`), ...Array.from({ length: 15 }, (_, at) => `other/${at}`)]
          : [],
      (name) => (name.startsWith('same/') ? 'left_out' : 'tested'),
    );
    const same = taken.filter((name) => name.startsWith('same/')).length;
    // Choices look back, so that they do not depend on the number of workers: here by up to half of the scan.
    expect(same).to.be.within(10, 25);
    expect(taken.filter((name) => name.startsWith('other/'))).to.have.length(15);
    expect(frontier.left()).to.equal(40 - same);
    expect(frontier.complete()).to.equal(true);
  });

  it('counts an address once, however many of its spellings lead nowhere', () => {
    const frontier = open(10, 3);
    const left: number[] = [];
    for (const name of ['a', 'a/', 'b', 'b/']) frontier.add(page(name), 0);
    for (const path of ['/a', '/b', '/a/', '/b/']) {
      const candidate = frontier.take() as Candidate;
      expect(candidate.url.pathname).to.equal(path);
      frontier.settle(candidate, 'failed', true);
      left.push(frontier.left());
    }
    expect(left).to.deep.equal([1, 0, 0, 0]);
    expect(frontier.counts()).to.deep.equal({ tested: 0, failed: 2, total: 2 });
    expect(frontier.spent()).to.equal(false);
  });

  it('does not leave an address of which a spelling was tried', () => {
    const frontier = open(1, 1, 1);
    for (const name of ['news/a', 'news/a/', 'news/b', 'news/c', 'news/d', 'news/e']) frontier.add(page(name), 0);
    frontier.settle(frontier.take() as Candidate, 'failed', true);
    expect(frontier.left()).to.equal(4);
  });

  it('never announces fewer pages than it has in the end, also if it leaves a template with another spelling', () => {
    const others = Array.from({ length: 40 }, (_, at) => `other/${at}`);
    const { totals } = crawl(
      open(500),
      '',
      (name) => (name === '' ? ['same/0', 'same/0/', ...Array.from({ length: 40 }, (_, at) => `same/${at + 1}`), ...others] : []),
      (name) => (name === 'same/0' ? 'failed' : name.startsWith('same/') ? 'left_out' : 'tested'),
    );
    expect(Math.min(...totals)).to.equal(totals.at(-1));
  });

  it('keeps no more addresses than can start, and counts those it leaves', () => {
    const frontier = open(10, 30, 60);
    crawl(frontier, '', (name) => (name === '' ? Array.from({ length: 5000 }, (_, at) => `page/${at}`) : []));
    expect(frontier.left()).to.equal(5000 - 9);
    expect(frontier.add(page('page/4999'), 1)).to.equal('known');
    expect(frontier.add(page('page/5000'), 1)).to.equal('left');
    let asked = 0;
    for (let at = 0; at < 100; at++) frontier.add(page(`page/x-${at}`), 1, () => (asked += 1) > 0);
    expect(asked).to.equal(0);
  });

  it('returns the pages that the time was too short for', () => {
    const frontier = open(3);
    for (const name of ['a', 'b', 'c', 'd', 'e']) frontier.add(page(name), 0);
    frontier.settle(frontier.take() as Candidate, 'tested');
    expect(frontier.drain().map(({ pathname }) => pathname)).to.deep.equal(['/b', '/c']);
    expect(frontier.left()).to.equal(2);
  });
});
