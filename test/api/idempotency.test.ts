/** Repeated submissions with the same Idempotency-Key. */
import { expect } from 'chai';
import { HIGH_LIMITS, useContext, SUBMISSION } from './context.ts';

describe('a submission with an Idempotency-Key', () => {
  const context = useContext({ limits: HIGH_LIMITS });
  afterEach(async () => {
    context.faults.clear();
    await context.stores.queueStates.write({ paused: false, live: 0 });
  });

  const submit = (key: string, idempotencyKey: string, body: unknown = SUBMISSION) =>
    context.request('POST', '/v1/ci/scans', { key, body, headers: { 'Idempotency-Key': idempotencyKey } });

  it('answers a repeated request even if the queue is paused or the credits are used up', async () => {
    const { key } = await context.organisation({ credits: 5 });
    const first = await submit(key, 'build-1');
    await context.stores.queueStates.write({ paused: true, live: 9999 });
    const second = await submit(key, 'build-1');
    expect([second.status, second.text]).to.deep.equal([202, first.text]);
  });

  it('replays across an upgrade that changes a default', async () => {
    const { key } = await context.organisation({ credits: 20 });
    const first = await submit(key, 'k');
    const upgraded = await context.replica({ maxPagesLimit: 3 });
    const second = await upgraded.request('POST', '/v1/ci/scans', { key, body: SUBMISSION, headers: { 'Idempotency-Key': 'k' } });
    expect([second.status, second.text]).to.deep.equal([202, first.text]);
  });

  it('accepts only one of several concurrent requests', async () => {
    const { id, key } = await context.organisation({ credits: 20 });
    const second = await context.replica();
    const answers = await Promise.all(
      [context, second].flatMap((one) =>
        [1, 2, 3].map(() => one.request('POST', '/v1/ci/scans', { key, body: SUBMISSION, headers: { 'Idempotency-Key': 'race' } })),
      ),
    );
    const fresh = answers.filter(({ status, headers }) => status === 202 && headers.get('idempotent-replayed') === null);
    expect(fresh).to.have.lengthOf(1);
    for (const { status, body } of answers)
      expect(status === 202 ? body.scan_id : body.detail).to.be.oneOf([fresh[0]!.body.scan_id, 'idempotency_conflict']);
    expect(await context.stores.credits.balance(id)).to.include({ balance: 15, held: 5 });
  });

  it('answers 409 while the first request is in progress', async () => {
    const { key } = await context.organisation({ credits: 20 });
    const [held, reached] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    context.faults.set('scanResources.submit', async (real, ...parameters) => {
      reached.resolve();
      await held.promise;
      return real(...parameters);
    });
    const first = submit(key, 'slow');
    await reached.promise;
    const second = await submit(key, 'slow');
    expect([second.status, second.body.detail]).to.deep.equal([409, 'idempotency_conflict']);
    // What is left of the lease, so that a request sent then takes the key over if the first one has died.
    expect(Number(second.headers.get('retry-after'))).to.be.within(1, 15);
    held.resolve();
    expect((await first).status).to.equal(202);
  });

  it('does not store errors: after 402, 422 and 503 the same key can be retried', async () => {
    const { id, key } = await context.organisation();
    expect((await submit(key, 'k')).status).to.equal(402);
    await context.stores.credits.grant(id, 'later', 5);
    await context.stores.queueStates.write({ paused: true, live: 0 });
    expect((await submit(key, 'k')).status).to.equal(503);
    await context.stores.queueStates.write({ paused: false, live: 0 });
    expect((await submit(key, 'k', { url: 'http://localhost/' })).status).to.equal(422);
    const { status, headers } = await submit(key, 'k');
    expect([status, headers.get('idempotent-replayed')]).to.deep.equal([202, null]);
  });
});
