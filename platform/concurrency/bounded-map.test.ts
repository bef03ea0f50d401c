import { expect } from 'chai';
import { BoundedMap } from './bounded-map.ts';

describe('BoundedMap', () => {
  it('keeps an entry for its time', () => {
    let now = 0;
    const map = new BoundedMap<string>({ max: 10, monotonic: () => now });
    map.set('a', 'x', 100);
    map.set('b', 'z');
    now = 99;
    expect(map.get('a')).to.equal('x');
    now = 100;
    expect(map.get('a')).to.equal(null);
    map.set('a', 'y', 1);
    map.delete('a');
    expect(map.get('a')).to.equal(null);
    expect(map.get('b')).to.equal('z');
  });

  it('forgets the least recently used entry when it is full', () => {
    const map = new BoundedMap<number>({ max: 2, monotonic: () => 0 });
    for (const [index, key] of ['a', 'b', 'a', 'c'].entries()) map.set(key, index, 100);
    expect(['a', 'b', 'c'].map((key) => map.get(key))).to.deep.equal([2, null, 3]);
    map.get('a');
    map.set('d', 4);
    expect(['a', 'c', 'd'].map((key) => map.get(key))).to.deep.equal([2, null, 4]);
  });
});
