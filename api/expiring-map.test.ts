import { expect } from 'chai';
import { createExpiringMap } from './expiring-map.ts';

describe('createExpiringMap', () => {
  it('keeps an entry for its time', () => {
    let now = 0;
    const map = createExpiringMap<string>({ max: 10, now: () => now });
    map.set('a', 'x', 100);
    now = 99;
    expect(map.get('a')).to.equal('x');
    now = 100;
    expect(map.get('a')).to.equal(null);
    map.set('a', 'y', 1);
    map.delete('a');
    expect(map.get('a')).to.equal(null);
  });

  it('forgets the oldest entry when it is full', () => {
    const map = createExpiringMap<number>({ max: 2, now: () => 0 });
    for (const [index, key] of ['a', 'b', 'a', 'c'].entries()) map.set(key, index, 100);
    expect(['a', 'b', 'c'].map((key) => map.get(key))).to.deep.equal([2, null, 3]);
  });
});
