import { expect } from 'chai';
import { createGate, TooBusy } from './gate.ts';

describe('createGate', () => {
  it('runs at most the allowed number at once, in order, and refuses what would wait too long', async () => {
    const gate = createGate({ atOnce: 2, waiting: 1 });
    const started: number[] = [];
    const ends = new Map<number, () => void>();
    const start = (id: number): Promise<void> =>
      gate.run(() => {
        started.push(id);
        return new Promise((resolve) => ends.set(id, resolve));
      });
    const first = start(1);
    const second = start(2);
    const third = start(3);
    const refused = await start(4).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(TooBusy);
    expect(started).to.deep.equal([1, 2]);
    ends.get(2)!();
    await second;
    await Promise.resolve();
    expect(started).to.deep.equal([1, 2, 3]);
    ends.get(1)!();
    ends.get(3)!();
    await Promise.all([first, third]);
    expect(await gate.run(() => Promise.resolve('free'))).to.equal('free');
  });

  it('frees the place of an operation that failed', async () => {
    const gate = createGate({ atOnce: 1, waiting: 0 });
    await gate.run(() => Promise.reject(new Error('failed'))).catch(() => undefined);
    expect(await gate.run(() => Promise.resolve(1))).to.equal(1);
  });
});
