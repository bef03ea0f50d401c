import { expect } from 'chai';
import { TooBusy } from '../../../platform/concurrency/semaphore.ts';
import { createSharedLookups } from './credentials.ts';

describe('shared look-ups', () => {
  it('make the first at once, and those that come meanwhile together', async () => {
    const batches: string[][] = [];
    const shared = createSharedLookups((names) => {
      batches.push(names);
      return Promise.resolve(new Map(names.filter((name) => name !== 'none').map((name) => [name, name.toUpperCase()])));
    });
    const all = ['a', 'b', 'b', 'none'].map((name) => shared.find(name));
    expect(batches).to.deep.equal([['a']]);
    expect(await Promise.all(all)).to.deep.equal(['A', 'B', 'B', null]);
    expect(batches).to.deep.equal([['a'], ['b', 'none']]);
  });

  it('make at most 500 with one command, and those of networks above their limit last', async () => {
    const batches: string[][] = [];
    const shared = createSharedLookups<string>((names) => Promise.resolve(new Map((batches.push(names), []))));
    const waiting = Array.from({ length: 1200 }, (_, n) => shared.find(`stranger ${n}`, { last: true }));
    const early = shared.find('early');
    await Promise.all([early, ...waiting]);
    expect(batches.map(({ length }) => length)).to.deep.equal([1, 500, 500, 200]);
    expect(batches[1]![0]).to.equal('early');
  });

  it('pass on a failure to those that waited for it, and go on', async () => {
    let fails = true;
    const shared = createSharedLookups(() => (fails ? Promise.reject(new Error('down')) : Promise.resolve(new Map([['a', 1]]))));
    const outcomes = await Promise.allSettled([shared.find('a'), shared.find('a')]);
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
    fails = false;
    expect(await shared.find('a')).to.equal(1);
  });

  it('refuse more than 5,000 that wait', async () => {
    const shared = createSharedLookups<string>(() => Promise.resolve(new Map()));
    const all = Array.from({ length: 5_002 }, (_, n) => shared.find(String(n)).catch((error: unknown) => error));
    const answers = await Promise.all(all);
    expect(answers.filter((answer) => answer instanceof TooBusy)).to.have.length(1);
  });
});
