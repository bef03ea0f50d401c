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

  it('answers a repeated request with the first response and charges nothing', async () => {
    const { id, key } = await context.organisation({ credits: 20 });
    const first = await submit(key, 'build-1');
    const second = await submit(key, 'build-1');
    expect(first.status).to.equal(202);
    expect(second.status).to.equal(202);
    expect(second.text).to.equal(first.text);
    expect(first.headers.get('idempotent-replayed')).to.equal(null);
    expect(second.headers.get('idempotent-replayed')).to.equal('true');
    for (const name of ['location', 'retry-after']) expect(second.headers.get(name)).to.equal(first.headers.get(name));
    expect(await context.stores.credits.balance(id)).to.include({ balance: 15, held: 5 });
  });

  it('answers a repeated request even if the queue is paused or the credits are used up', async () => {
    const { key } = await context.organisation({ credits: 5 });
    const first = await submit(key, 'build-1');
    await context.stores.queueStates.write({ paused: true, live: 9999 });
    const second = await submit(key, 'build-1');
    expect([second.status, second.text]).to.deep.equal([202, first.text]);
  });

  it('compares what the caller sent: in any order, null as absent, and URLs as a browser understands them', async () => {
    const { key } = await context.organisation({ credits: 20 });
    const first = await submit(key, 'k', { url: 'https://example.com', max_pages: 5, min_score: null });
    const second = await submit(key, 'k', { max_pages: 5, url: 'HTTPS://example.com/' });
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
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let arrived = (): void => undefined;
    const reached = new Promise<void>((resolve) => (arrived = resolve));
    context.faults.set('scanResources.submit', async (real, ...parameters) => {
      arrived();
      await held;
      return real(...parameters);
    });
    const first = submit(key, 'slow');
    await reached;
    const second = await submit(key, 'slow');
    expect([second.status, second.body.detail]).to.deep.equal([409, 'idempotency_conflict']);
    // What is left of the lease, so that a request sent then takes the key over if the first one has died.
    expect(Number(second.headers.get('retry-after'))).to.be.within(1, 15);
    release();
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

  it('separates the keys of two organisations', async () => {
    const [one, other] = [await context.organisation({ credits: 5 }), await context.organisation({ credits: 5 })];
    const [first, second] = [await submit(one.key, 'same'), await submit(other.key, 'same')];
    expect(first.body.scan_id).to.not.equal(second.body.scan_id);
  });

  it('accepts 255 characters', async () => {
    const { key } = await context.organisation({ credits: 5 });
    expect((await submit(key, 'k'.repeat(255))).status).to.equal(202);
  });
});
