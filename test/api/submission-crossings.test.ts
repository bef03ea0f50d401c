/** Repeated submissions where two faults meet: a crash or a slow request, and a paused queue, a failed lookup or an outage. */
import { expect } from 'chai';
import type { Resolver } from '../../core/scan/targets.ts';
import { crashAfter, eventually, HIGH_LIMITS, SUBMISSION, useContext } from './context.ts';
import { down, KNOWN_NAMES, type Response } from './replica.ts';

describe('a repeated submission', () => {
  let names: Resolver;
  const context = useContext({
    dependencyTimeoutMs: 60_000,
    limits: HIGH_LIMITS,
    resolver: { resolve: (...parameters) => names.resolve(...parameters) },
  });
  beforeEach(() => {
    names = KNOWN_NAMES;
  });
  afterEach(async () => {
    context.faults.clear();
    await context.stores.queueStates.write({ paused: false, live: 0 });
  });

  const submit = (key: string, signal?: AbortSignal): Promise<Response> =>
    context.request('POST', '/v1/ci/scans', { key, body: SUBMISSION, headers: { 'Idempotency-Key': 'build' }, signal });
  const expireLeases = () => context.db.collection('idempotency').updateMany({}, { $set: { leaseUntil: new Date(0) } });
  const rowsOf = (organisation: string) =>
    context.db.collection<{ _id: string; submission: string }>('scans').find({ organisation }).toArray();
  const held = async (organisation: string) => (await context.stores.credits.balance(organisation)).held;

  /** Submits to a replica that crashes after a step took effect. Its lease then ends. */
  async function crash(step: string, key: string): Promise<void> {
    await crashAfter(context, step, (signal) => submit(key, signal));
    await expireLeases();
  }

  /** What may refuse a submission at the time of the repeated request. */
  const refusals: [what: string, refuse: () => Promise<unknown>, expected: [number, string]][] = [
    ['the queue is paused', () => context.stores.queueStates.write({ paused: true, live: 0 }), [503, 'queue_paused']],
    [
      'the host has a private address now',
      async () => (names = { resolve: () => Promise.resolve({ ok: true, addresses: ['10.0.0.1'] }) }),
      [422, 'url.private_address'],
    ],
  ];
  for (const [what, refuse, expected] of refusals) {
    it(`returns the accepted scan although ${what}, and nothing detaches the key from it`, async () => {
      const { id, key } = await context.organisation({ credits: 20 });
      await crash('scans.accept', key);
      const [row] = await rowsOf(id);
      await refuse();
      for (let turn = 0; turn < 2; turn += 1) {
        const { status, body, headers } = await submit(key);
        expect([status, body.scan_id, headers.get('idempotent-replayed')]).to.deep.equal([202, row!._id, 'true']);
        await expireLeases();
      }
      expect(await held(id)).to.equal(5);
      expect(await rowsOf(id)).to.have.lengthOf(1);
    });

    it(`is refused if ${what} before the scan is decided, and returns that scan after the operator has accepted it`, async () => {
      const { id, key } = await context.organisation({ credits: 20 });
      await crash('scanResources.submit', key);
      const [row] = await rowsOf(id);
      await refuse();
      const refused = await submit(key);
      const detail: unknown = refused.body.detail;
      expect([refused.status, Array.isArray(detail) ? detail[0].type : detail]).to.deep.equal(expected);
      await context.stores.scans.accept(row!._id, { pagesReserved: 5 });
      const repeat = await submit(key);
      expect([repeat.status, repeat.body.scan_id, repeat.body.pages_reserved]).to.deep.equal([202, row!._id, 5]);
      expect(await held(id)).to.equal(5);
    });
  }

  it('is replayed across an upgrade that changes a default, although the credits are used up', async () => {
    const { key } = await context.organisation({ credits: 5 });
    const first = await submit(key);
    const upgraded = await context.replica({ maxPagesLimit: 3 });
    const second = await upgraded.request('POST', '/v1/ci/scans', { key, body: SUBMISSION, headers: { 'Idempotency-Key': 'build' } });
    expect([second.status, second.text]).to.deep.equal([202, first.text]);
  });

  it('resumes the scan of a request that could not abandon it, and is charged once', async () => {
    const { id, key } = await context.organisation({ credits: 20 });
    context.faults.set('scanResources.submit', down);
    context.faults.set('scanResources.exists', down);
    context.faults.set('scans.abandon', down);
    const unknown = await submit(key);
    expect([unknown.status, unknown.body.detail, unknown.headers.get('retry-after')]).to.deep.equal([503, 'submission_unconfirmed', '5']);
    expect(unknown.body.message).to.not.match(/nothing was charged/i);
    context.faults.clear();
    expect((await submit(key)).status).to.equal(202);
    expect(await rowsOf(id)).to.have.lengthOf(1);
    expect(await held(id)).to.equal(5);
  });

  for (const outcome of ['succeeds', 'fails'] as const)
    it(`shares its scan with a slow first request that ${outcome} later`, async () => {
      const { id, key } = await context.organisation({ credits: 20 });
      let proceed = (): void => undefined;
      const waiting = new Promise<void>((resolve) => (proceed = resolve));
      let slow = false;
      context.faults.set('scanResources.submit', async (real, ...parameters) => {
        if (slow) return real(...parameters);
        slow = true;
        await waiting;
        return outcome === 'succeeds' ? real(...parameters) : down();
      });
      const first = submit(key);
      await eventually('the slow request', () => slow);
      await expireLeases();
      const second = await submit(key);
      expect(second.status).to.equal(202);
      proceed();
      const late = await first;
      expect([late.status, late.body.scan_id]).to.deep.equal([202, second.body.scan_id]);
      expect(await held(id)).to.equal(5);
    });

  it('ends the scan of a stalled request for which there were no credits, and returns what that one reserves later', async () => {
    const { id, key } = await context.organisation({ credits: 4 });
    let proceed = (): void => undefined;
    const waiting = new Promise<void>((resolve) => (proceed = resolve));
    let stalled = false;
    context.faults.set('credits.reserve', async (real, ...parameters) => {
      if (!stalled) {
        stalled = true;
        await waiting;
      }
      return real(...parameters);
    });
    const first = submit(key);
    await eventually('the stalled request', () => stalled);
    await expireLeases();
    expect((await submit(key)).status).to.equal(402);
    await context.stores.credits.grant(id, 'more', 16);
    proceed();
    expect((await first).status, 'nothing was charged').to.equal(503);
    expect(await context.stores.credits.balance(id)).to.include({ balance: 20, held: 0 });
    expect((await submit(key)).status).to.equal(202);
    expect((await rowsOf(id)).map(({ submission }) => submission)).to.have.members(['abandoned', 'accepted']);
    expect(await held(id)).to.equal(5);
  });

  it('gets another scan if the first one was abandoned, although the answer to its acceptance was lost', async () => {
    const { id, key } = await context.organisation({ credits: 20 });
    let accepts = 0;
    context.faults.set('scans.accept', async (real, scanId, ...parameters) => {
      accepts += 1;
      if (accepts > 1) return real(scanId, ...parameters);
      await context.stores.scans.abandon(String(scanId));
      await context.stores.credits.settle(id, String(scanId), 0);
      await real(scanId, ...parameters);
      return down();
    });
    expect((await submit(key)).status).to.equal(503);
    context.faults.clear();
    const second = await submit(key);
    expect([second.status, second.headers.get('idempotent-replayed')]).to.deep.equal([202, null]);
    expect((await rowsOf(id)).map(({ submission }) => submission)).to.have.members(['abandoned', 'accepted']);
    expect(await held(id)).to.equal(5);
  });
});
