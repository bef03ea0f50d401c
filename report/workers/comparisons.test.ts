import { expect } from 'chai';
import type { ComparedReports } from '../diff/summary.ts';
import { silentLogger } from '../../test/support/silent-logger.ts';
import type { StoredComparison } from './compare.ts';
import { COMPARISON_LIMITS, createComparisons, type ComparedScan, type LastingComparison } from './comparisons.ts';

const SAME: ComparedReports = {
  ok: true,
  new: 0,
  onNewPages: 0,
  newKnown: 0,
  judged: 0,
  newCauses: 0,
  fixed: 0,
  unchanged: 4,
  notTested: 0,
  caveats: [],
  examples: [],
  causes: { new: [], newTotal: 0, fixed: [], fixedTotal: 0 },
};
const object = { key: 'k', bytes: 1, sha256: 'a' };
const scan = (id: string, over: Partial<ComparedScan> = {}): ComparedScan => ({
  id,
  organisation: 'acme',
  reports: { export: object, pdf: object },
  ...over,
});

describe('comparisons', () => {
  function open(compare: (before: string, after: string) => Promise<StoredComparison>, timeoutMs?: number) {
    const cached = new Map<string, LastingComparison>();
    const compared: string[] = [];
    const comparisons = createComparisons({
      cache: {
        find: async (organisation, before, after) => cached.get(`${organisation}:${before}:${after}`) ?? null,
        store: async (organisation, before, after, result) => void cached.set(`${organisation}:${before}:${after}`, result),
      },
      comparer: {
        compareStored(before, after) {
          compared.push(`${before} ${after}`);
          return compare(before, after);
        },
      },
      now: () => new Date(0),
      timeoutMs,
      logger: silentLogger,
    });
    return { comparisons, cached, compared };
  }

  it('compares a pair once, also for callers at the same time', async () => {
    const { comparisons, compared } = open(async () => SAME);
    const both = [comparisons.between(scan('a'), scan('b')), comparisons.between(scan('a'), scan('b'))];
    expect(await Promise.all(both)).to.deep.equal([SAME, SAME]);
    expect(await comparisons.between(scan('a'), scan('b'))).to.deep.equal(SAME);
    expect(await comparisons.known(scan('a'), scan('b'))).to.deep.equal(SAME);
    expect(compared).to.deep.equal(['a b']);
    expect(await comparisons.known(scan('b'), scan('a'))).to.equal(null);
  });

  for (const [what, before] of [
    ['of another organisation', scan('a', { organisation: 'other' })],
    ['whose reports were deleted', scan('a', { reports: null })],
  ] as const)
    it(`compare no scan ${what}, even if the result is stored`, async () => {
      const { comparisons, cached, compared } = open(async () => SAME);
      cached.set('acme:a:b', SAME);
      expect(await comparisons.between(before, scan('b'))).to.deep.equal({ ok: false, reason: 'not_found' });
      expect(await comparisons.known(before, scan('b'))).to.deep.equal({ ok: false, reason: 'not_found' });
      expect(compared).to.deep.equal([]);
    });

  it('keep a refusal that would be repeated, and no other', async () => {
    for (const [reason, isKept] of [
      ['not_comparable', true],
      ['not_found', false],
      ['unavailable', false],
    ] as const) {
      const { comparisons, cached } = open(async () => ({ ok: false, reason }));
      expect(await comparisons.between(scan('a'), scan('b'))).to.deep.equal({ ok: false, reason });
      expect(cached.size, reason).to.equal(isKept ? 1 : 0);
    }
  });

  it('answer `unavailable` if the comparison fails, and compare again', async () => {
    let fails = true;
    const { comparisons } = open(async () => {
      if (fails) throw new Error('the thread does not start');
      return SAME;
    });
    expect(await comparisons.between(scan('a'), scan('b'))).to.deep.equal({ ok: false, reason: 'unavailable' });
    fails = false;
    expect(await comparisons.between(scan('a'), scan('b'))).to.deep.equal(SAME);
  });

  it('answer `busy` to an organisation that has its share, and store a result whose caller is gone', async () => {
    const { promise, resolve } = Promise.withResolvers<StoredComparison>();
    const { comparisons, cached } = open(() => promise);
    const gone = new AbortController();
    const first = comparisons.between(scan('a'), scan('0'), gone.signal).then(
      () => 'compared',
      (error: unknown) => error,
    );
    const second = comparisons.between(scan('a'), scan('1'));
    await new Promise((done) => setImmediate(done));
    expect(await comparisons.between(scan('a'), scan('2'))).to.deep.equal({ ok: false, reason: 'busy', limit: 'key' });
    gone.abort(new Error('gone'));
    expect(await first)
      .to.be.an('error')
      .with.property('message', 'gone');
    resolve(SAME);
    await second;
    expect([...cached.keys()]).to.have.members(['acme:a:0', 'acme:a:1']);
    expect(await comparisons.between(scan('a'), scan('2'))).to.deep.equal(SAME);
  });

  it('answer `busy` if a turn does not come in time', async () => {
    const { promise, resolve } = Promise.withResolvers<StoredComparison>();
    const { comparisons } = open(() => promise, 1);
    const first = comparisons.between(scan('a'), scan('0'));
    expect(await comparisons.between(scan('a'), scan('1'))).to.deep.equal({ ok: false, reason: 'busy', limit: 'total' });
    resolve(SAME);
    expect(await first).to.deep.equal(SAME);
  });

  it('of one organisation leave room and a turn for others, until the replica has no room', async () => {
    const running: (() => void)[] = [];
    const { comparisons, compared } = open(() => {
      const { promise, resolve } = Promise.withResolvers<StoredComparison>();
      running.push(() => resolve(SAME));
      return promise;
    });
    const of = (organisation: string, id: string) =>
      comparisons.between(scan(`${organisation} before`, { organisation }), scan(id, { organisation }));
    const all = [of('acme', '1'), of('acme', '2')];
    for (const other of ['b', 'c', 'd']) all.push(of(other, '1'), of(other, '2'));
    await new Promise((done) => setImmediate(done));
    expect(await of('e', '1')).to.deep.equal({ ok: false, reason: 'busy', limit: 'total' });
    expect(compared, 'one at a time').to.deep.equal(['acme before 1']);
    for (let ended = 0; ended < COMPARISON_LIMITS.pending.total; ended += 1) {
      running[ended]!();
      await new Promise((done) => setImmediate(done));
    }
    expect(await Promise.all(all)).to.deep.equal(all.map(() => SAME));
    expect(compared.slice(0, 5).map((pair) => pair.split(' ')[0])).to.deep.equal(['acme', 'acme', 'b', 'c', 'd']);
  });
});
