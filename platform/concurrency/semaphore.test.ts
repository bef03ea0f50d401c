import { expect } from 'chai';
import fc from 'fast-check';
import { createSemaphore, ONE_AT_A_TIME, TooBusy, type Bound, type Permit, type Semaphore, type SemaphoreLimit } from './semaphore.ts';

const { signal } = new AbortController();
const held = (permit: Permit | { ok: false; limit: SemaphoreLimit }): Permit => {
  if (!permit.ok) throw new Error(`refused: ${permit.limit}`);
  return permit;
};
/** Lets every promise settle that can. */
const settle = (): Promise<void> => new Promise((done) => setImmediate(done));

describe('semaphore', () => {
  it('gives a permit once, and then to those that wait, in their order', async () => {
    const semaphore = createSemaphore(ONE_AT_A_TIME);
    const first = semaphore.tryAcquire('a')!;
    const second = semaphore.acquire('a', signal);
    const third = semaphore.acquire('a', signal);
    expect(semaphore.tryAcquire('a')).to.equal(null);
    first.release();
    const permit = held(await second);
    first.release();
    expect(semaphore.tryAcquire('b'), 'a second release has no effect').to.equal(null);
    permit.release();
    held(await third).release();
    expect(semaphore.tryAcquire('b')).not.to.equal(null);
  });

  it('gives keys their turns, however many of one key wait', async () => {
    const semaphore = createSemaphore(ONE_AT_A_TIME);
    const order: string[] = [];
    const first = semaphore.tryAcquire('a')!;
    const all = ['a', 'a', 'a', 'b', 'a', 'c', 'b'].map(async (key) => {
      const permit = held(await semaphore.acquire(key, signal));
      order.push(key);
      await settle();
      permit.release();
    });
    first.release();
    await Promise.all(all);
    expect(order.join('')).to.equal('abcabaa');
  });

  it('refuses more than the share of a key, and more than all keys may have, and says which', async () => {
    const semaphore = createSemaphore({ held: { total: 1, perKey: 1 }, pending: { total: 3, perKey: 2 } });
    const first = held(await semaphore.acquire('a', signal));
    void semaphore.acquire('a', signal);
    expect(await semaphore.acquire('a', signal)).to.deep.equal({ ok: false, limit: 'key' });
    const third = semaphore.acquire('b', signal);
    expect(await semaphore.acquire('c', signal)).to.deep.equal({ ok: false, limit: 'total' });
    first.release();
    await settle();
    void semaphore.acquire('c', signal);
    expect(await semaphore.acquire('d', signal)).to.deep.equal({ ok: false, limit: 'total' });
    void third;
  });

  it('runs work with a permit, and frees it if the work fails', async () => {
    const semaphore = createSemaphore(ONE_AT_A_TIME);
    const failed = semaphore.run('a', () => Promise.reject(new Error('failed'))).catch((error: Error) => error.message);
    expect(await Promise.all([failed, semaphore.run('a', async () => 'done')])).to.deep.equal(['failed', 'done']);
    expect(semaphore.tryAcquire('a')).not.to.equal(null);
  });

  it('refuses to run work if too much is pending, or if no permit comes in time', async () => {
    const semaphore = createSemaphore({ held: { total: 1, perKey: 1 }, pending: { total: 3, perKey: 2 } });
    const first = semaphore.tryAcquire('a')!;
    const late = new AbortController();
    const run = (key: string): Promise<unknown> => semaphore.run(key, async () => 'done', late.signal).catch((error: unknown) => error);
    const waiting = run('a');
    expect(await run('a'))
      .to.be.instanceOf(TooBusy)
      .with.property('limit', 'key');
    const aborted = run('b');
    expect(await run('c'))
      .to.be.instanceOf(TooBusy)
      .with.property('limit', 'total');
    late.abort();
    expect(await aborted).to.be.instanceOf(TooBusy);
    expect(await waiting).to.be.instanceOf(TooBusy);
    first.release();
    expect(semaphore.tryAcquire('a')).not.to.equal(null);
  });

  it('does not give a permit to one that waits no longer, nor forget others at that moment', async () => {
    const semaphore = createSemaphore(ONE_AT_A_TIME);
    const first = semaphore.tryAcquire('a')!;
    const stop = new AbortController();
    const gone = semaphore.acquire('a', stop.signal).catch((error: Error) => error.message);
    const second = semaphore.acquire('a', signal);
    stop.abort(new Error('lease lost'));
    expect(await gone).to.equal('lease lost');
    first.release();
    const permit = held(await second);
    expect(await semaphore.acquire('a', stop.signal).catch((error: Error) => error.message)).to.equal('lease lost');

    const late = new AbortController();
    const given = semaphore.acquire('a', late.signal);
    const behind = semaphore.acquire('b', signal);
    permit.release();
    late.abort(new Error('too late'));
    held(await given).release();
    held(await behind).release();
  });

  it('bounds every wait by its signal', async () => {
    const semaphore = createSemaphore(ONE_AT_A_TIME);
    semaphore.tryAcquire('never released');
    const waits = ['a', 'a', 'b'].map((key) => semaphore.acquire(key, AbortSignal.timeout(1)).catch((error: Error) => error.name));
    expect(await Promise.all(waits)).to.deep.equal(['TimeoutError', 'TimeoutError', 'TimeoutError']);
  });

  describe('for any order of requests, aborts and releases', () => {
    type Limits = { held: Bound; pending?: Bound };
    const bound = fc.record({ total: fc.integer({ min: 1, max: 5 }), perKey: fc.integer({ min: 1, max: 5 }) });
    const limits: fc.Arbitrary<Limits> = fc.record({ held: bound, pending: bound }, { requiredKeys: ['held'] });
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ do: fc.constant('acquire' as const), key: fc.constantFrom('a', 'b', 'c') }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('try' as const), key: fc.constantFrom('a', 'b', 'c') }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('release' as const), at: fc.nat() }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('abort' as const), at: fc.nat() }) },
    );
    /** Everything that may be observed from outside. */
    function setUp(given: Limits) {
      const { pending: all } = given;
      const semaphore: Semaphore<SemaphoreLimit> = all === undefined ? createSemaphore(given) : createSemaphore({ ...given, pending: all });
      const holders: { key: string; permit: Permit }[] = [];
      const waiters: { key: string; stop: AbortController }[] = [];
      const of = (list: readonly { key: string }[], key: string) => list.filter((one) => one.key === key).length;
      function acquire(key: string) {
        const { pending } = given;
        const mine = of(holders, key) + of(waiters, key);
        const refused =
          pending && (mine >= pending.perKey ? 'key' : holders.length + waiters.length >= pending.total ? 'total' : undefined);
        const waiter = { key, stop: new AbortController() };
        waiters.push(waiter);
        const leave = () => void waiters.splice(waiters.indexOf(waiter), 1);
        semaphore.acquire(key, waiter.stop.signal).then(
          (permit) => {
            leave();
            if (permit.ok !== (refused === undefined)) throw new Error(`expected ${refused ?? 'a permit'}`);
            if (permit.ok) holders.push({ key, permit });
            else expect(permit.limit).to.equal(refused);
          },
          () => leave(),
        );
      }
      function check() {
        expect(holders.length, 'held').to.be.at.most(given.held.total);
        for (const key of ['a', 'b', 'c']) {
          expect(of(holders, key), 'held by a key').to.be.at.most(given.held.perKey);
          if (given.pending) expect(of(holders, key) + of(waiters, key), 'of a key').to.be.at.most(given.pending.perKey);
          const mayHave = holders.length < given.held.total && of(holders, key) < given.held.perKey;
          expect(mayHave && of(waiters, key) > 0, 'a permit is free while a key waits that may have it').to.equal(false);
        }
        if (given.pending) expect(holders.length + waiters.length, 'pending').to.be.at.most(given.pending.total);
      }
      return { semaphore, holders, waiters, acquire, check };
    }

    it('never exceeds a limit, leaves no permit unused and forgets no waiter', () =>
      fc.assert(
        fc.asyncProperty(limits, fc.array(step, { maxLength: 40 }), async (given, steps) => {
          const { semaphore, holders, waiters, acquire, check } = setUp(given);
          for (const one of steps) {
            if (one.do === 'acquire') acquire(one.key);
            if (one.do === 'try') {
              const permit = semaphore.tryAcquire(one.key);
              if (permit !== null) holders.push({ key: one.key, permit });
            }
            if (one.do === 'release' && holders.length > 0) holders.splice(one.at % holders.length, 1)[0]!.permit.release();
            if (one.do === 'abort' && waiters.length > 0) waiters[one.at % waiters.length]!.stop.abort(new Error('gone'));
            await settle();
            check();
          }
          while (holders.length > 0) {
            holders.shift()!.permit.release();
            await settle();
            check();
          }
          expect(waiters, 'starved').to.deep.equal([]);
        }),
        { numRuns: 300 },
      ));

    it('gives a key its second permit only after each other key that waits had one', () =>
      fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 4 }),
          fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 30 }),
          async (total, keys) => {
            const semaphore = createSemaphore({ held: { total, perKey: total } });
            const granted: { key: string; permit: Permit }[] = [];
            for (const key of keys) void semaphore.acquire(key, signal).then((permit) => granted.push({ key, permit: held(permit) }));
            await settle();
            for (let released = 0; released < granted.length; released += 1) {
              granted[released]!.permit.release();
              await settle();
            }
            const order = granted.map(({ key }) => key);
            expect(order, 'all of them').to.have.length(keys.length);
            // The first ones had not to wait.
            for (let at = total; at < order.length; at += 1) {
              const next = order.indexOf(order[at]!, at + 1);
              if (next === -1) continue;
              const between = new Set(order.slice(at, next));
              expect([...new Set(order.slice(next))].filter((key) => !between.has(key))).to.deep.equal([]);
            }
          },
        ),
        { numRuns: 200 },
      ));
  });
});
