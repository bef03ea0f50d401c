/** Refusing is cheap: what denied requests and unknown keys cost, and whom they affect. */
import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { makeKey } from '../../stores/accounts/key-format.ts';
import { issueKey } from '../support/issue-key.ts';
import { showCount } from '../support/counts.ts';
import { useContext, SUBMISSION } from './context.ts';

describe('a denied request', () => {
  const context = useContext({ limits: { key: { limit: 2, windowSeconds: 60 }, submissions: { limit: 1, windowSeconds: 60 } } });
  const balance = (key: string) => context.request('GET', '/v1/billing/credits', { key });

  it('is remembered, and further ones cost nothing until Retry-After', async () => {
    const { key } = await context.organisation();
    await balance(key);
    await balance(key);
    await context.stores.keys.flush();
    context.commands.length = 0;
    expect((await balance(key)).status).to.equal(429);
    expect(context.commands, 'the first denial').to.deep.equal(['aggregate keys', 'findAndModify limits']);
    showCount(context.commands.length, 'MongoDB commands of the first 429 of a key');

    context.commands.length = 0;
    const again = await Promise.all(Array.from({ length: 20 }, () => balance(key)));
    expect(context.commands, 'further denials').to.deep.equal([]);
    showCount(context.commands.length, 'MongoDB commands of 20 further requests of that key until Retry-After');
    for (const { status, body, headers } of again) {
      expect([status, body.detail]).to.deep.equal([429, 'rate_limit_exceeded']);
      const left = Number(headers.get('retry-after'));
      expect(left).to.be.within(1, 61);
      expect(headers.get('ratelimit-policy')).to.equal('"key";q=2;w=60');
      expect(headers.get('ratelimit')).to.equal(`"key";r=0;t=${left}`);
    }
  });

  it('by a limit of the organisation is remembered for its other keys', async () => {
    const { id, key } = await context.organisation({ credits: 20 });
    const submit = (one: string) => context.request('POST', '/v1/ci/scans', { key: one, body: SUBMISSION });
    expect((await submit(key)).status).to.equal(202);
    expect((await submit(key)).status).to.equal(429);
    const { secret: other } = await issueKey(context.stores.keys, id);
    await context.stores.keys.flush();
    context.commands.length = 0;
    expect((await submit(other)).status).to.equal(429);
    expect(context.commands).to.deep.equal(['aggregate keys']);
  });
});

describe('an unknown key', () => {
  const context = useContext({ networkLimits: { 'invalid-keys': { limit: 3, windowSeconds: 60 } } });

  it('gets 429 beyond the limit of its network, and never affects a valid key', async () => {
    const { key } = await context.organisation();
    const unknown = () => context.request('GET', '/v1/billing/credits', { key: makeKey(randomBytes) });
    for (let count = 0; count < 3; count += 1) expect((await unknown()).status).to.equal(401);
    const denied = await unknown();
    expect([denied.status, denied.body.detail]).to.deep.equal([429, 'rate_limit_exceeded']);
    expect(Number(denied.headers.get('retry-after'))).to.be.within(1, 61);
    expect(denied.headers.get('ratelimit-policy')).to.equal('"invalid-keys";q=3;w=60');
    expect((await context.request('GET', '/v1/billing/credits', { key })).status).to.equal(200);
  });

  it('is not counted while there is no free connection to the database: the replica says that it is busy', async () => {
    const { key } = await context.organisation();
    const exhausted = Object.assign(new Error('timed out'), { name: 'MongoWaitQueueTimeoutError' });
    context.faults.set('rateLimits.admit', () => Promise.reject(exhausted));
    const { status, body, headers } = await context.request('GET', '/v1/billing/credits', { key });
    expect([status, body.detail, headers.get('retry-after')]).to.deep.equal([503, 'replica_busy', '5']);
  });
});
