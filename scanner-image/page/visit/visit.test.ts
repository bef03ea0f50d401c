import { expect } from 'chai';
import { atMost, budgetFor } from './visit.ts';

describe('the time limit of a visit', () => {
  const standard = { budgetMs: 30_000, largeBudgetMs: 120_000 };

  it('is longer for pages with more than 20,000 elements, up to a limit', () => {
    expect([100, 20_000, 40_000, 60_000, 100_000].map((elements) => budgetFor(standard, elements))).to.deep.equal([
      30_000, 30_000, 90_000, 120_000, 120_000,
    ]);
  });

  it('is never longer than what an installation has set, or than what is left of the scan', () => {
    expect(budgetFor({ budgetMs: 40_000, largeBudgetMs: 40_000 }, 60_000)).to.equal(40_000);
    expect(budgetFor(atMost(50_000, standard), 60_000)).to.equal(50_000);
    expect(budgetFor(atMost(5000, standard), 60_000)).to.equal(5000);
  });
});
