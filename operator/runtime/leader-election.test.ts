import { expect } from 'chai';
import fc from 'fast-check';
import { createFakeClock, type FakeClock } from '../../test/support/fake-clock.ts';
import { createFakeLeases, type Faults } from '../../test/support/fake-leases.ts';
import { nightly } from '../../test/support/nightly.ts';
import { createFakeLogger } from '../../test/support/fake-logger.ts';
import type { KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import { runLeaderElection } from './leader-election.ts';

interface Campaigner {
  faults: Faults;
  leads: boolean;
  terms: number;
  stop: AbortController;
  over: Promise<void>;
}

const DURATIONS = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 };

describe('leader election', () => {
  let clock: FakeClock;
  let leases: ReturnType<typeof createFakeLeases>;
  const campaigners: Campaigner[] = [];

  beforeEach(() => {
    clock = createFakeClock();
    leases = createFakeLeases(clock.after);
  });
  afterEach(async () => {
    for (const { stop, faults } of campaigners) {
      Object.assign(faults, { unavailable: true, hangs: false, losesResponses: false });
      stop.abort();
    }
    await clock.advance(60_000);
    await Promise.all(campaigners.splice(0).map(({ over }) => over));
  });

  function campaign(
    identity: string,
    options: { lingerMs?: number; work?: (signal: AbortSignal, lost: AbortSignal) => Promise<void> } = {},
  ): Campaigner {
    const { connection, faults } = leases.connect();
    const stop = new AbortController();
    const it: Campaigner = { faults, leads: false, terms: 0, stop, over: Promise.resolve() };
    it.over = start(connection, identity, stop.signal, async (signal, lost) => {
      it.leads = true;
      it.terms++;
      lost.addEventListener('abort', () => (it.leads = false));
      if (options.work) await options.work(signal, lost);
      else await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      if (options.lingerMs) await new Promise<void>((resolve) => clock.after(options.lingerMs!, resolve));
      it.leads = false;
    });
    it.over.catch(() => {});
    campaigners.push(it);
    return it;
  }

  function start(
    connection: KubernetesConnection,
    identity: string,
    signal: AbortSignal,
    whileLeading: (signal: AbortSignal, lost: AbortSignal) => Promise<void>,
  ) {
    const logger = createFakeLogger();
    return runLeaderElection({
      connection,
      namespace: 'ns',
      name: 'lease',
      identity,
      clock,
      logger,
      signal,
      whileLeading,
      ...DURATIONS,
      random: () => 0,
    });
  }

  it('rejects durations that would allow two leaders', async () => {
    const { connection } = leases.connect();
    const options = {
      connection,
      namespace: 'ns',
      name: 'l',
      identity: 'a',
      clock,
      logger: createFakeLogger(),
      signal: new AbortController().signal,
      ...DURATIONS,
    };
    let problem: unknown;
    await runLeaderElection({ ...options, whileLeading: async () => {}, renewDeadlineMs: 15_000 }).catch(
      (error: unknown) => (problem = error),
    );
    expect(String(problem)).to.contain('renewDeadlineMs (15000)');
  });

  it('creates the lease, holds it and renews it', async () => {
    const a = campaign('a');
    await clock.advance(0);
    expect(a.leads).to.equal(true);
    expect(leases.lease?.spec).to.deep.equal({
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:00:00.000000Z',
      leaseTransitions: 0,
    });
    await clock.advance(20_000);
    expect(leases.lease?.spec).to.include({ acquireTime: '2026-01-01T00:00:00.000000Z', renewTime: '2026-01-01T00:00:20.000000Z' });
    expect(leases.writes.map(({ verb }) => verb).join(' ')).to.equal(`POST ${'PUT '.repeat(10).trim()}`);
  });

  it('waits until the lease is unchanged for its duration by its own clock, ignoring renewTime', async () => {
    leases.lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'lease', resourceVersion: '0', uid: 'uid' },
      spec: { holderIdentity: 'gone', leaseDurationSeconds: 15, renewTime: '1999-01-01T00:00:00.000000Z', leaseTransitions: 3 },
    };
    const a = campaign('a');
    await clock.advance(14_999);
    expect(a.leads).to.equal(false);
    await clock.advance(2_001);
    expect(a.leads).to.equal(true);
    expect(leases.lease.spec).to.include({ holderIdentity: 'a', leaseTransitions: 4 });
  });

  it('releases the lease on stop only after its work has finished', async () => {
    const a = campaign('a', { lingerMs: 30_000 });
    await clock.advance(0);
    const b = campaign('b');
    await clock.advance(1000);
    a.stop.abort();
    await clock.advance(29_999);
    expect([a.leads, b.leads]).to.deep.equal([true, false]);
    await clock.advance(1);
    expect(leases.lease?.spec?.holderIdentity).to.equal('');
    await a.over;
    await clock.advance(2_000);
    expect([a.leads, b.leads]).to.deep.equal([false, true]);
  });

  it('counts a renewal whose response was lost after reading the lease again', async () => {
    const a = campaign('a');
    await clock.advance(0);
    a.faults.losesResponses = true;
    await clock.advance(5_000);
    a.faults.losesResponses = false;
    await clock.advance(60_000);
    expect([a.leads, a.terms]).to.deep.equal([true, 1]);
  });

  it('stops leading at once if another candidate holds the lease', async () => {
    const a = campaign('a');
    await clock.advance(1_000);
    leases.lease = structuredClone(leases.lease!);
    leases.lease.spec!.holderIdentity = 'thief';
    leases.lease.metadata.resourceVersion = 'other';
    await clock.advance(1_000);
    expect(a.leads).to.equal(false);
  });

  it('stops leading after the whole process was suspended', async () => {
    const a = campaign('a', { lingerMs: 1 });
    await clock.advance(0);
    const before = leases.writes.length;
    // The renewal timer and the deadline timer both fire late. The lease must not be renewed.
    clock.jump(20_000);
    await clock.advance(0);
    expect(a.leads).to.equal(false);
    expect(leases.writes.length).to.equal(before);
  });

  it('releases the lease and ends if the work ends by itself, and rejects with its error', async () => {
    const a = campaign('a', { work: async () => {} });
    await clock.advance(0);
    await a.over;
    expect(leases.lease?.spec?.holderIdentity).to.equal('');
    const b = campaign('b', { work: () => Promise.reject(new Error('broken')) });
    await clock.advance(5_000);
    let problem: unknown;
    await b.over.catch((error: unknown) => (problem = error));
    expect(String(problem)).to.equal('Error: broken');
    expect(leases.lease?.spec?.holderIdentity).to.equal('');
    b.over = Promise.resolve();
  });

  it('never has two leaders under any faults, and has one again after they end', async () => {
    const fault = fc.record({
      who: fc.integer({ min: 0, max: 2 }),
      what: fc.constantFrom('unavailable' as const, 'hangs' as const, 'losesResponses' as const),
      on: fc.boolean(),
      ms: fc.integer({ min: 0, max: 20_000 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(fault, { maxLength: 15 }), async (faults) => {
        clock = createFakeClock();
        leases = createFakeLeases(clock.after);
        const all = ['a', 'b', 'c'].map((identity) => campaign(identity));
        const leaders = () => all.filter((one) => one.leads).length;
        const pass = async (ms: number) => {
          for (let left = ms; left > 0; left -= 500) {
            await clock.advance(Math.min(500, left));
            expect(leaders()).to.be.at.most(1);
          }
        };
        for (const { who, what, on, ms } of faults) {
          all[who]!.faults[what] = on;
          await pass(ms);
        }
        for (const one of all) Object.assign(one.faults, { unavailable: false, hangs: false, losesResponses: false });
        await pass(40_000);
        expect(leaders()).to.equal(1);
        for (const one of all) one.stop.abort();
        await clock.advance(30_000);
        await Promise.all(all.map(({ over }) => over));
        campaigners.splice(0);
      }),
      { numRuns: nightly(25, 100) },
    );
  });
});
