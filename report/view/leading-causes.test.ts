import { expect } from 'chai';
import fc from 'fast-check';
import { leadingCauses } from './leading-causes.ts';
import type { RootCause } from '../schema/root-cause.ts';

const groupsOf = (...elements: number[]): RootCause[] => elements.map((count) => ({ elements: count }) as RootCause);

describe('leading causes', () => {
  it('are those with the most violations, and say how many percent they are', () => {
    const { causes, removed, percent } = leadingCauses(groupsOf(3, 40, 1, 30, 10, 6, 10), 3);
    expect(causes.map(({ index }) => index)).to.deep.equal([1, 3, 4]);
    expect({ removed, percent }).to.deep.equal({ removed: 80, percent: 80 });
  });

  it('keep the order of the report if they have equally many', () => {
    expect(leadingCauses(groupsOf(2, 2, 2), 2).causes.map(({ index }) => index)).to.deep.equal([0, 1]);
  });

  it('are 100 percent only if no violation is left', () => {
    expect(leadingCauses(groupsOf(999, 1), 1).percent).to.equal(99);
    expect(leadingCauses(groupsOf(999, 1), 2).percent).to.equal(100);
    expect(leadingCauses(groupsOf(...Array.from({ length: 800 }, () => 1))).percent).to.equal(0.6);
    expect(leadingCauses([])).to.deep.equal({ causes: [], removed: 0, percent: 0 });
  });

  it('remove at least as many violations as any other choice', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 12 }), fc.integer({ min: 1, max: 5 }), (elements, most) => {
        const best = elements.toSorted((a, b) => b - a).slice(0, most);
        expect(leadingCauses(groupsOf(...elements), most).removed).to.equal(best.reduce((sum, count) => sum + count, 0));
      }),
    );
  });
});
