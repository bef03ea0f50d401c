import { expect } from 'chai';
import { RETRIED_FOR_MS } from '../../core/webhooks/webhooks.ts';
import { nextAttempt } from './delivery-loop.ts';

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
