import { expect } from 'chai';
import { createQueueGate } from './submit.ts';

const START = Date.UTC(2026, 0, 1);

describe('queue gate', () => {
  let now: number;
  let state: { paused: boolean; live: number; updatedAt: Date };
  let reads: number;
  let counts: number;
  let failing: boolean;
  beforeEach(() => {
    now = START;
    state = { paused: false, live: 9, updatedAt: new Date(START) };
    reads = 0;
    counts = 0;
    failing = false;
  });

  const gate = (rows = 0, cacheMs = 1000) =>
    createQueueGate({
      queueStates: {
        read: async () => {
          reads += 1;
          if (failing) throw new Error('down');
          return state;
        },
      },
      scans: {
        countLive: async (limit) => {
          counts += 1;
          return Math.min(rows, limit);
        },
      },
      now: () => new Date(now),
      monotonic: () => now,
      maxLiveScans: 10,
      cacheMs,
    });

  it('is open below the limit, and full at it', async () => {
    expect(await gate()()).to.equal(null);
    state.live = 10;
    expect(await gate()()).to.equal('queue_full');
    state.paused = true;
    expect(await gate()()).to.equal('queue_paused');
  });

  it('reads the state once a second, however many submissions arrive', async () => {
    const ask = gate();
    await Promise.all(Array.from({ length: 50 }, ask));
    now += 999;
    await ask();
    expect(reads).to.equal(1);
    state.paused = true;
    now += 1;
    expect(await ask()).to.equal('queue_paused');
    expect(reads).to.equal(2);
  });

  it('counts the live rows if the state is older than 60 s, once a second', async () => {
    const ask = gate(10);
    now += 60_000;
    expect(await ask()).to.equal(null);
    expect(counts).to.equal(0);
    now += 1000;
    expect(await Promise.all([ask(), ask(), ask()])).to.deep.equal(['queue_full', 'queue_full', 'queue_full']);
    expect(counts).to.equal(1);
    expect(await gate(9)()).to.equal(null);
  });

  it('keeps a pause of an outdated state', async () => {
    state.paused = true;
    now += 7 * 86_400_000;
    expect(await gate()()).to.equal('queue_paused');
  });

  it('does not remember a failure', async () => {
    const ask = gate();
    failing = true;
    const error = await ask().then(() => null, (reason: unknown) => reason); // prettier-ignore
    expect(error).to.be.an('error');
    failing = false;
    expect(await ask()).to.equal(null);
  });
});
