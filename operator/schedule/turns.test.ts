import { expect } from 'chai';
import { createTurns, TURN_EVERY_MS, TURNS_AT_ONCE } from './turns.ts';

describe('turns of schedules', () => {
  /** Milliseconds that the work of each of `count` schedules waits. */
  const waitsOf = (take: () => number, now: number, count: number): number[] =>
    Array.from({ length: count }, () => Math.max(0, take() - now));

  it('gives an organisation some turns at once, then one after the other, and each organisation its own', () => {
    let now = 5_000_000;
    const turns = createTurns(() => now);
    const waits = waitsOf(() => turns.take('ash'), now, TURNS_AT_ONCE + 4);
    expect(waits.slice(TURNS_AT_ONCE - 1)).to.deep.equal([0, 0, 1, 2, 3].map((late) => late * TURN_EVERY_MS));
    expect(waitsOf(() => turns.take('birch'), now, 1)).to.deep.equal([0]);
    now += 10 * TURN_EVERY_MS;
    expect(
      waitsOf(() => turns.take('ash'), now, 9).filter((wait) => wait === 0),
      'after a while',
    ).to.have.length(7);
    now += 3_600_000;
    expect(waitsOf(() => turns.take('ash'), now, TURNS_AT_ONCE + 2).at(-1), 'after a pause').to.equal(TURN_EVERY_MS);
  });
});
