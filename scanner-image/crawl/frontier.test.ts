import { expect } from 'chai';
import fc from 'fast-check';
import { createFrontier, type Candidate, type Frontier, type Outcome } from './frontier.ts';

const page = (name: string): URL => new URL(`https://example.org/${name}`);
const open = (maxPages: number, maxFailed = 100, maxFolded = 100): Frontier => createFrontier({ maxPages, maxFailed, maxFolded });

/**
 * Walks a generated site with several workers; `random` decides which worker finishes next.
 * @returns the candidates in the order in which they were processed, with their outcomes
 */
function walk(
  site: Map<string, { links: string[]; end: 'tested' | 'failed'; leadsTo?: string }>,
  start: string,
  frontier: Frontier,
  workers: number,
  random: () => number,
): string[] {
  const processed: string[] = [];
  const inProgress: Candidate[] = [];
  const arrived = new Map<number, Candidate>();
  let turn = 0;
  frontier.add(page(start), 0);
  for (;;) {
    while (inProgress.length < workers) {
      const candidate = frontier.take();
      if (candidate === null) break;
      inProgress.push(candidate);
      if (candidate.turn === 0) break;
    }
    if (inProgress.length === 0) break;
    const [finished] = inProgress.splice(Math.floor(random() * inProgress.length), 1);
    if (finished === undefined) break;
    arrived.set(finished.turn, finished);
    for (let next = arrived.get(turn); next !== undefined; next = arrived.get(turn)) {
      arrived.delete(turn);
      turn += 1;
      frontier.settle(next, process(next));
    }
  }
  return processed;

  function process(candidate: Candidate): Outcome {
    if (frontier.covered(candidate.key) || frontier.spent()) return 'skipped';
    const name = candidate.url.pathname.slice(1);
    const known = site.get(name) ?? { links: [], end: 'failed' as const };
    processed.push(`${name} ${known.end}`);
    if (known.end === 'failed') return 'failed';
    if (known.leadsTo !== undefined && known.leadsTo !== name) {
      const key = `example.org/${known.leadsTo}`;
      processed.pop();
      if (frontier.covered(key)) return 'folded';
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
    expect([frontier.add(page('a'), 0), frontier.add(page('b'), 1), frontier.add(page('a/'), 1)]).to.deep.equal([true, true, false]);
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
    expect(frontier.complete()).to.equal(true);
  });

  it('accepts outcomes only in the order of turns', () => {
    const frontier = open(5);
    frontier.add(page('a'), 0);
    frontier.add(page('b'), 0);
    frontier.take();
    const b = frontier.take() as Candidate;
    expect(() => frontier.settle(b, 'tested')).to.throw(RangeError, 'expected turn 0');
  });

  it('returns the same pages in the same order with any number of workers', () => {
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
        (pages, maxPages, maxFailed, random) => {
          const site = new Map(pages.map((generated, at) => [names[at] ?? '', generated]));
          const alone = walk(site, 'p0', open(maxPages, maxFailed, 5), 1, () => 0);
          for (const workers of [2, 4])
            expect(walk(site, 'p0', open(maxPages, maxFailed, 5), workers, () => random.next().value as number)).to.deep.equal(alone);
        },
      ),
      { numRuns: 500 },
    );
  });
});
