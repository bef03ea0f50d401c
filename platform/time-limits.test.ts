import { expect } from 'chai';
import { TimeLimitExceeded, withTimeLimit } from './time-limits.ts';

describe('withTimeLimit', () => {
  it('returns the value of a promise that settles in time', async () => {
    expect(await withTimeLimit(Promise.resolve(1), 1_000, 'the test')).to.equal(1);
  });

  it('passes on a rejection that arrives in time', async () => {
    const failed = await withTimeLimit(Promise.reject(new Error('refused')), 1_000, 'the test').catch((error: unknown) => error);
    expect(failed).to.be.an('error').with.property('message', 'refused');
  });

  it('rejects after the limit, and names what was late', async () => {
    const failed = await withTimeLimit(new Promise(() => undefined), 5, 'the test').catch((error: unknown) => error);
    expect(failed).to.be.instanceOf(TimeLimitExceeded).and.have.property('message', 'the test took longer than 5 ms');
  });

  it('ignores a rejection that arrives after the limit', async () => {
    const { promise, reject } = Promise.withResolvers<never>();
    await withTimeLimit(promise, 1, 'the test').catch(() => undefined);
    reject(new Error('late'));
    await new Promise((resolve) => setImmediate(resolve));
  });
});
