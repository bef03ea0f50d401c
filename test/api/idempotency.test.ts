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
});
