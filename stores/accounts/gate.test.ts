import { expect } from 'chai';
import { createGate, TooBusy } from './gate.ts';

/** Lets every promise settle that can. */
const settle = (): Promise<void> => new Promise((done) => setImmediate(done));

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
    await settle();
    expect(started).to.deep.equal([1, 2]);
    ends.get(2)!();
    await second;
    await settle();
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

  it('refuses more of one name than may run and wait, and lets others through', async () => {
    const gate = createGate({ atOnce: 1, waiting: 10, perName: 2 });
    const ends: (() => void)[] = [];
    const start = (name: string): Promise<unknown> =>
      gate.run(() => new Promise<void>((resolve) => ends.push(resolve)), name).catch((error: unknown) => error);
    const [first, second, third, other] = ['2001:db8::/48', '2001:db8::/48', '2001:db8::/48', '192.0.2.0/24'].map(start);
    expect(await third).to.be.instanceOf(TooBusy);
    await settle();
    for (const one of [first, second, other]) {
      ends.shift()!();
      expect(await one).to.equal(undefined);
      await settle();
    }
    expect(await gate.run(() => Promise.reject(new Error('failed')), 'a').catch((error: Error) => error.message)).to.equal('failed');
    expect(await gate.run(() => Promise.resolve('free'), '2001:db8::/48')).to.equal('free');
  });
});
