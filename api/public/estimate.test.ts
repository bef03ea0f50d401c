import { expect } from 'chai';
import { createEstimator, estimateSeconds, type EstimateFacts } from './estimate.ts';

describe('the estimate of a public scan', () => {
  const table: [string, EstimateFacts, number][] = [
    ['before any scan has ended', { waiting: 0, maxRunning: 2, recentSeconds: [] }, 60],
    ['with a free place', { waiting: 0, maxRunning: 2, recentSeconds: [21, 22, 23, 24] }, 25],
    ['behind two scans with two places', { waiting: 2, maxRunning: 2, recentSeconds: [30] }, 60],
    ['in an endless line', { waiting: 1e9, maxRunning: 1, recentSeconds: [60] }, 3600],
    ['of a scan that has run for 12 s', { waiting: 0, maxRunning: 2, recentSeconds: [30], ranSeconds: 12 }, 20],
    ['of a scan that has run for longer than others', { waiting: 0, maxRunning: 2, recentSeconds: [30], ranSeconds: 90 }, 10],
  ];
  for (const [what, facts, seconds] of table) it(`${what} is ${seconds} s`, () => expect(estimateSeconds(facts)).to.equal(seconds));

  it('is made from facts that are read once in 5 s, and not remembered after a failure', async () => {
    let now = 0;
    let reads = 0;
    const estimate = createEstimator({
      queueStates: {
        readLine: async () => {
          reads += 1;
          if (reads === 1) throw new Error('down');
          return reads < 4 ? { waiting: 2 * reads, order: [] } : { waiting: 12, order: [], maxRunning: 3 };
        },
      },
      scans: { search: async () => ({ rows: [], next: null }) },
      monotonic: () => now,
      maxRunning: 2,
    });
    expect(await estimate().catch(() => 'failed')).to.equal('failed');
    expect([await estimate(), await estimate(), reads]).to.deep.equal([180, 180, 2]);
    expect(await estimate({ before: 1, ranSeconds: 0 }), 'behind one').to.equal(90);
    expect(await estimate({ before: 0, ranSeconds: 40 }), 'running').to.equal(20);
    now = 5_000;
    expect([await estimate(), reads]).to.deep.equal([240, 3]);
    now = 10_000;
    expect(await estimate(), 'with the places of the ScanQueue').to.equal(300);
  });
});
