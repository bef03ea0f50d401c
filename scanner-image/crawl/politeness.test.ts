import { expect } from 'chai';
import { createPacer } from './politeness.ts';

describe('pacer', () => {
  let now: number;
  let sleeps: number[];
  beforeEach(() => {
    now = 5;
    sleeps = [];
  });
  const pacer = (delayMs: number) => createPacer(() => delayMs, { now: () => now, sleep: async (ms) => void sleeps.push(ms) });

  it('starts the first page at once, and the others one delay apart, whatever the number of workers', async () => {
    const waitForTurn = pacer(400);
    await Promise.all([waitForTurn(), waitForTurn(), waitForTurn()]);
    expect(sleeps).to.deep.equal([400, 800]);
  });

  it('waits only for the rest of the delay, and not after it', async () => {
    const waitForTurn = pacer(400);
    await waitForTurn();
    now += 300;
    await waitForTurn();
    expect(sleeps).to.deep.equal([100]);
    now += 500;
    await waitForTurn();
    expect(sleeps).to.deep.equal([100]);
  });

  it('never waits without a delay', async () => {
    const waitForTurn = pacer(0);
    for (let page = 0; page < 3; page += 1) await waitForTurn();
    expect(sleeps).to.deep.equal([]);
  });

  it('does not wait longer if the time of the day is set back', async () => {
    const waitForTurn = createPacer(() => 20);
    const dateNow = Date.now;
    try {
      await waitForTurn();
      Date.now = () => dateNow() - 3_600_000;
      await waitForTurn();
    } finally {
      Date.now = dateNow;
    }
  });
});
