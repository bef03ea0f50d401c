import { expect } from 'chai';
import { takeOldest, OLDEST_MAX } from './controller.ts';

describe('writes of busy organisations', () => {
  it('are bounded, and the statuses that are the oldest come first', () => {
    const written = new Map(Array.from({ length: OLDEST_MAX + 50 }, (_, index) => [`org-${index}`, 1000 - index]));
    const due = new Set(written.keys());
    const first = takeOldest(due, (id) => written.get(id)!);
    expect(first).to.have.length(OLDEST_MAX);
    expect(first[0]).to.equal(`org-${OLDEST_MAX + 49}`);
    expect(takeOldest(due, (id) => written.get(id)!)).to.have.length(50);
    expect(due.size).to.equal(0);
  });

  it('reach every organisation, also if all of them change in every interval', () => {
    const all = Array.from({ length: 3 * OLDEST_MAX }, (_, index) => `org-${index}`);
    const written = new Map<string, number>();
    for (let interval = 1; interval <= 3; interval += 1)
      for (const id of takeOldest(new Set(all), (one) => written.get(one) ?? 0)) written.set(id, interval);
    expect(written.size).to.equal(all.length);
  });
});
