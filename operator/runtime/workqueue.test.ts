import { expect } from 'chai';
import fc from 'fast-check';
import { createFakeClock, settle } from '../../test/support/fake-clock.ts';
import { unobservedMetrics } from '../../test/support/unobserved-metrics.ts';
import { createWorkqueue, type QueueOptions } from './workqueue.ts';

describe('workqueue', () => {
  function setUp(options: Omit<QueueOptions, 'clock' | 'metrics'> = {}) {
    const clock = createFakeClock();
    let depth = 0;
    const metrics = { ...unobservedMetrics, queueDepth: (_: string, keys: number) => (depth = keys) };
    return { clock, queue: createWorkqueue({ clock, random: () => 1, metrics, ...options }), depth: () => depth };
  }

  it('returns a key once even if it was added several times', async () => {
    const { queue, depth } = setUp();
    for (const key of ['a', 'b', 'a', 'a']) queue.add(key);
    expect(depth()).to.equal(2);
    expect([await queue.get(), await queue.get()]).to.deep.equal(['a', 'b']);
    expect(depth()).to.equal(0);
  });

  it('adds a key once, at the earliest of several times', async () => {
    const { clock, queue, depth } = setUp();
    queue.addAfter('a', 500);
    queue.addAfter('a', 100);
    queue.addAfter('a', 900);
    await clock.advance(99);
    expect(depth()).to.equal(0);
    await clock.advance(1);
    expect(depth()).to.equal(1);
    expect(clock.pending).to.equal(0);
    expect(await queue.get()).to.equal('a');
    queue.done('a');
    await clock.advance(10_000);
    expect(depth()).to.equal(0);
  });

  it('supports delays longer than the maximum of a timer', async () => {
    const { clock, queue, depth } = setUp();
    const days = 40 * 86_400_000;
    queue.addAfter('a', days);
    await clock.advance(days - 1);
    expect(depth()).to.equal(0);
    await clock.advance(1);
    expect(depth()).to.equal(1);
  });

  it('doubles the back-off per key up to the limit and resets it on forget', async () => {
    const { clock, queue, depth } = setUp({ baseDelayMs: 100, maxDelayMs: 1000 });
    const delay = async (key: string) => {
      const start = clock.monotonic();
      queue.addRateLimited(key);
      while (depth() === 0) await clock.advance(10);
      expect(await queue.get()).to.equal(key);
      queue.done(key);
      return clock.monotonic() - start;
    };
    const delays = [];
    for (let i = 0; i < 6; i++) delays.push(await delay('a'));
    expect(delays).to.deep.equal([100, 200, 400, 800, 1000, 1000]);
    expect(queue.failures('a')).to.equal(6);
    expect(await delay('b')).to.equal(100);
    queue.forget('a');
    expect(queue.failures('a')).to.equal(0);
    expect(await delay('a')).to.equal(100);
  });

  it('applies jitter to the upper half of a back-off', async () => {
    const { clock, queue, depth } = setUp({ baseDelayMs: 100, random: () => 0 });
    queue.addRateLimited('a');
    await clock.advance(49);
    expect(depth()).to.equal(0);
    await clock.advance(1);
    expect(depth()).to.equal(1);
  });

  const manyKeys = Array.from({ length: 40 }, (_, number) => `slow/${number}`);

  /** A queue whose keys are `share/…`, and keys as workers would take them. */
  function shared(keys: readonly string[], perShare: number) {
    const { clock, queue } = setUp({ perShare, shareOf: (key) => key.split('/')[0]! });
    for (const key of keys) queue.add(key);
    const taken: string[] = [];
    const take = (count: number) => {
      for (let i = 0; i < count; i += 1) void queue.get().then((key) => key !== null && taken.push(key));
      return settle();
    };
    return { clock, queue, taken, take };
  }

  it('gives one share no more workers than its part, however many of its keys wait', async () => {
    const { queue, taken, take } = shared(manyKeys, 3);
    await take(32);
    expect(taken).to.deep.equal(['slow/0', 'slow/1', 'slow/2']);
    queue.done('slow/1');
    await settle();
    expect(taken.at(-1)).to.equal('slow/3');
  });

  it('lets shares take turns, each with a quarter of its part until others had no key for a while', async () => {
    const { clock, queue, taken, take } = shared([...manyKeys, 'a/0', 'a/1', 'a/2', 'b/0'], 8);
    await take(32);
    expect(taken).to.deep.equal(['slow/0', 'a/0', 'b/0', 'slow/1', 'a/1']);
    queue.add('c/0');
    await settle();
    expect(taken.splice(0).at(-1), 'for whom a worker waits').to.equal('c/0');
    for (const key of ['a/0', 'a/1', 'b/0', 'c/0', 'slow/0']) queue.done(key);
    await settle();
    expect(taken.splice(0)).to.have.members(['a/2', 'slow/2']);
    await clock.advance(10_000);
    queue.add('slow/40');
    await settle();
    expect(taken, 'without others').to.have.length(6);
  });

  it('gives a share a quarter of its part while it takes seconds for each key', async () => {
    const { clock, queue, taken, take } = shared(manyKeys, 8);
    await take(8);
    await clock.advance(3_000);
    for (const key of taken.splice(0)) queue.done(key);
    await take(8);
    expect(taken).to.deep.equal(['slow/8', 'slow/9']);
    for (const key of taken.splice(0)) queue.done(key);
    await settle();
    expect(taken, 'the workers that waited').to.have.length(6);
  });

  it('throws on done for a key that no worker holds', () => {
    const { queue } = setUp();
    queue.add('a');
    expect(() => queue.done('a')).to.throw('"a"');
  });

  it('returns queued keys after shutdown, then null, and resolves when all keys are done', async () => {
    const { clock, queue } = setUp();
    queue.add('a');
    queue.add('b');
    queue.addAfter('late', 100);
    expect(await queue.get()).to.equal('a');
    let drained = false;
    const over = queue.shutDown().then(() => (drained = true));
    queue.add('c');
    await clock.advance(1000);
    expect(await queue.get()).to.equal('b');
    expect(await queue.get()).to.equal(null);
    queue.done('a');
    expect(drained).to.equal(false);
    queue.done('b');
    await over;
    expect(clock.pending).to.equal(0);
  });

  it('never gives a key to two workers, loses no addition, and drains', async () => {
    const key = fc.constantFrom('a', 'b', 'c');
    const step = fc.oneof(
      fc.record({ do: fc.constant('add' as const), key }),
      fc.record({ do: fc.constant('addAfter' as const), key, ms: fc.integer({ min: 0, max: 50 }) }),
      fc.record({ do: fc.constant('addRateLimited' as const), key }),
      fc.record({ do: fc.constant('forget' as const), key }),
      fc.record({ do: fc.constant('get' as const) }),
      fc.record({ do: fc.constant('done' as const), key }),
      fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 60 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { clock, queue, depth } = setUp({ baseDelayMs: 5, maxDelayMs: 40 });
        const held = new Set<string>();
        /** Keys added and not returned since. */
        const owed = new Set<string>();
        /** Additions not yet returned, per key; one return may cover several. */
        const asked = new Map<string, number>();
        const take = async () => {
          const got = (await queue.get())!;
          expect(held.has(got), `${got} is held twice`).to.equal(false);
          expect(asked.get(got) ?? 0, `${got} was returned more often than it was added`).to.be.greaterThan(0);
          asked.set(got, asked.get(got)! - 1);
          owed.delete(got);
          held.add(got);
        };
        for (const step of steps) {
          if (step.do === 'wait') await clock.advance(step.ms);
          else if (step.do === 'get') {
            if (depth() > 0) await take();
          } else if (step.do === 'done') {
            if (held.delete(step.key)) queue.done(step.key);
          } else if (step.do === 'forget') queue.forget(step.key);
          else {
            owed.add(step.key);
            asked.set(step.key, (asked.get(step.key) ?? 0) + 1);
            if (step.do === 'addAfter') queue.addAfter(step.key, step.ms);
            else queue[step.do](step.key);
          }
        }
        // After time has passed and every worker is done, the queue must return exactly the keys that are owed.
        for (let round = 0; round < 3; round++) {
          await clock.advance(100);
          for (const key of [...held]) {
            held.delete(key);
            queue.done(key);
          }
          while (depth() > 0) await take();
        }
        expect([...owed]).to.deep.equal([]);
        for (const key of held) queue.done(key);
        await queue.shutDown();
      }),
      { numRuns: 150 },
    );
  });
});
