import { expect } from 'chai';
import { gridFromZero, gridOf, timesOf } from './trend.ts';

describe('the drawing of a trend', () => {
  for (const [what, scores, grid] of [
    ['small changes', [94.3, 94.8, 94.5], [92.5, 95]],
    ['equal scores', [80, 80], [77.5, 80, 82.5]],
    ['equal scores at the top', [100, 100], [97.5, 100]],
    ['equal scores at the bottom', [0, 0], [0, 2.5]],
    ['large changes', [12, 88.4], [0, 25, 50, 75, 100]],
    ['all scores', [0, 100], [0, 25, 50, 75, 100]],
    ['changes of some points', [71.5, 90], [70, 75, 80, 85, 90]],
  ] as const)
    it(`has grid lines near the scores: ${what}`, () => {
      expect(gridOf(scores)).to.deep.equal(grid);
    });

  it('has at most five different grid lines that hold every score', () => {
    for (let low = 0; low <= 100; low += 3.1)
      for (let high = low; high <= 100; high += 4.7) {
        const scores = [low, high].map((score) => Math.round(score * 10) / 10);
        const grid = gridOf(scores);
        expect(new Set(grid).size).to.equal(grid.length).and.be.within(2, 5);
        expect(grid[0]).to.be.at.most(scores[0]!).and.at.least(0);
        expect(grid.at(-1)).to.be.at.least(scores[1]!).and.at.most(100);
      }
  });

  for (const [most, grid] of [
    [0, [0, 1]],
    [3, [0, 1, 2, 3]],
    [12, [0, 5, 10, 15]],
    [29, [0, 10, 20, 30]],
    [4_100, [0, 2_000, 4_000, 6_000]],
  ] as const)
    it(`has grid lines from 0 for ${most} violations`, () => expect(gridFromZero([most, 0])).to.deep.equal(grid));

  for (const [first, last, labels] of [
    ['2026-03-02T09:14:00.000Z', '2026-04-02T09:14:00.000Z', ['2026-03-02', '2026-04-02']],
    ['2026-03-02T09:14:00.000Z', '2026-03-02T17:14:00.000Z', ['03-02 09:14', '03-02 17:14']],
    ['2026-03-02T09:14:01.000Z', '2026-03-02T09:14:59.000Z', ['03-02 09:14:01', '03-02 09:14:59']],
    ['2026-03-02T09:14:01.001Z', '2026-03-02T09:14:01.009Z', ['03-02 09:14:01.001', '03-02 09:14:01.009']],
  ] as const)
    it(`names two different times: ${labels.join(', ')}`, () => {
      expect(timesOf([{ at: new Date(first) }, { at: new Date(last) }])).to.deep.equal(labels);
    });
});
