import { expect } from 'chai';
import fc from 'fast-check';
import { createFrontier, type Candidate, type End, type Frontier } from './frontier.ts';

const page = (name: string): URL => new URL(`https://example.org/${name}`);
const open = (maxPages: number, maxFailed = 100, maxFolded = 100): Frontier => createFrontier({ maxPages, maxFailed, maxFolded });

/**
 * Walks a made-up site with so many workers; which of them is through next is drawn from `luck`.
 * @returns the candidates in the order in which they were taken in, with what became of them
 */
function walk(
  site: Map<string, { links: string[]; end: 'tested' | 'failed'; leadsTo?: string }>,
  start: string,
  frontier: Frontier,
  workers: number,
  luck: () => number,
): string[] {
  const taken: string[] = [];
  const underway: Candidate[] = [];
  const arrived = new Map<number, Candidate>();
  let due = 0;
  frontier.add(page(start), 0);
  for (;;) {
    while (underway.length < workers) {
      const candidate = frontier.take();
      if (candidate === null) break;
      underway.push(candidate);
      if (candidate.turn === 0) break;
    }
    if (underway.length === 0) break;
    const [through] = underway.splice(Math.floor(luck() * underway.length), 1);
    if (through === undefined) break;
    arrived.set(through.turn, through);
    for (let next = arrived.get(due); next !== undefined; next = arrived.get(due)) {
      arrived.delete(due);
      due += 1;
      frontier.settle(next, takeIn(next));
    }
  }
  return taken;

  function takeIn(candidate: Candidate): End {
    if (frontier.covered(candidate.key) || frontier.spent()) return 'skipped';
    const name = candidate.url.pathname.slice(1);
    const known = site.get(name) ?? { links: [], end: 'failed' as const };
    taken.push(`${name} ${known.end}`);
    if (known.end === 'failed') return 'failed';
    if (known.leadsTo !== undefined && known.leadsTo !== name) {
      const key = `example.org/${known.leadsTo}`;
      taken.pop();
      if (frontier.covered(key)) return 'folded';
      frontier.cover(key);
      taken.push(`${name} as ${known.leadsTo}`);
    }
    for (const link of known.links) frontier.add(page(link), candidate.depth + 1);
    return 'tested';
  }
}

describe('the frontier', () => {
  it('gives pages in the order in which they were found, each once', () => {
    const frontier = open(10);
    expect([frontier.add(page('a'), 0), frontier.add(page('b'), 1), frontier.add(page('a/'), 1)]).to.deep.equal([true, true, false]);
    expect([frontier.take()?.url.pathname, frontier.take()?.url.pathname, frontier.take()]).to.deep.equal(['/a', '/b', null]);
  });

  it('starts no more than may still be tested', () => {
    const frontier = open(2);
    for (const name of ['a', 'b', 'c', 'd']) frontier.add(page(name), 0);
    const [a, b] = [frontier.take(), frontier.take()];
    expect(frontier.take()).to.equal(null);
    frontier.settle(a as Candidate, 'failed');
    expect(frontier.take()?.url.pathname).to.equal('/c');
    frontier.settle(b as Candidate, 'tested');
    expect(frontier.take()).to.equal(null);
    expect(frontier.counts()).to.deep.equal({ tested: 1, failed: 1, total: 3 });
    expect(frontier.left().map(({ pathname }) => pathname)).to.deep.equal(['/d']);
  });

  it('ends after too many failures', () => {
    const frontier = open(5, 2);
    for (const name of ['a', 'b', 'c']) frontier.add(page(name), 0);
    frontier.settle(frontier.take() as Candidate, 'failed');
    frontier.settle(frontier.take() as Candidate, 'failed');
    expect(frontier.spent()).to.equal(true);
    expect(frontier.take()).to.equal(null);
    expect(frontier.finished()).to.equal(true);
  });

  it('takes ends in only when they are due', () => {
    const frontier = open(5);
    frontier.add(page('a'), 0);
    frontier.add(page('b'), 0);
    frontier.take();
    const b = frontier.take() as Candidate;
    expect(() => frontier.settle(b, 'tested')).to.throw(RangeError, 'turn 0 is due');
  });

  it('gives the same pages in the same order whatever the workers and their luck', () => {
    const names = Array.from({ length: 14 }, (_, at) => `p${at}`);
    const anySite = fc.array(
      fc.record({
        links: fc.array(fc.constantFrom(...names), { maxLength: 6 }),
        end: fc.constantFrom('tested' as const, 'tested' as const, 'failed' as const),
        leadsTo: fc.option(fc.constantFrom(...names), { nil: undefined, freq: 3 }),
      }),
      { minLength: names.length, maxLength: names.length },
    );
    fc.assert(
      fc.property(
        anySite,
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 4 }),
        fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })),
        (pages, maxPages, maxFailed, luck) => {
          const site = new Map(pages.map((made, at) => [names[at] ?? '', made]));
          const alone = walk(site, 'p0', open(maxPages, maxFailed, 5), 1, () => 0);
          for (const workers of [2, 4])
            expect(walk(site, 'p0', open(maxPages, maxFailed, 5), workers, () => luck.next().value as number)).to.deep.equal(alone);
        },
      ),
      { numRuns: 500 },
    );
  });
});
