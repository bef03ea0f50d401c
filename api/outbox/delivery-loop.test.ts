import { expect } from 'chai';
import fc from 'fast-check';
import { RETRIED_FOR_MS } from '../../core/webhooks/webhooks.ts';
import { ATTEMPTS_MAX, pauseDelay, retryDelay } from './mail-transport.ts';
import { nextAttempt } from './webhook-transport.ts';

describe('retries of webhooks', () => {
  it('come after pauses that double up to six hours, for three days', () => {
    const created = new Date('2026-03-02T10:00:00Z');
    const pauses: number[] = [];
    let now = created;
    for (let attempts = 1; ; attempts += 1) {
      const next = nextAttempt(attempts, created, now, 0.5);
      if (next === null) break;
      pauses.push((next.getTime() - now.getTime()) / 1000);
      now = next;
    }
    expect(pauses.slice(0, 4)).to.deep.equal([10, 20, 40, 80]);
    expect(Math.max(...pauses)).to.equal(6 * 3600);
    expect(pauses).to.have.lengthOf(22);
    expect(now.getTime() - created.getTime())
      .to.be.at.most(RETRIED_FOR_MS)
      .and.above(RETRIED_FOR_MS - 6 * 3_600_000);
  });
});

describe('retries of mails', () => {
  it('gives a mail up after about a day', () => {
    let total = 0;
    for (let attempts = 1; attempts < ATTEMPTS_MAX; attempts += 1) total += retryDelay(attempts, 0.5)!;
    expect(total / 3_600_000).to.be.within(18, 26);
    expect(retryDelay(ATTEMPTS_MAX, 0.5)).to.equal(null);
  });

  it('grows within its bounds, and varies by a fifth', () => {
    const attempts = fc.integer({ min: 1, max: ATTEMPTS_MAX - 1 });
    const random = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(attempts, random, (count, chance) => {
        expect(retryDelay(count, chance)).to.be.within(48_000, 17_280_000);
        expect(retryDelay(count, 0.5)).to.be.at.most(retryDelay(count + 1, 0.5) ?? Infinity);
        expect(pauseDelay(count, chance)).to.be.within(4_000, 360_000);
      }),
    );
    expect([retryDelay(3, 0)! / 60_000, retryDelay(3, 1)! / 60_000].map((minutes) => minutes.toFixed(1))).to.deep.equal(['3.2', '4.8']);
  });
});
