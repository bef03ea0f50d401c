/** Refusing is cheap: what denied requests and unknown keys cost, and whom they affect. */
import { expect } from 'chai';
import { makeKey } from '../../stores/accounts/key-format.ts';
import { issueKey } from '../support/issue-key.ts';
import { showCount } from '../support/counts.ts';
import { startContext, useContext, SUBMISSION, type ApiContext } from './context.ts';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('a denied request', () => {
  const context = useContext({
    limits: { key: { limit: 2, windowSeconds: 5 }, submissions: { limit: 1, windowSeconds: 60 } },
  });
  const balance = (key: string) => context.request('GET', '/v1/billing/credits', { key });

  it('is remembered until Retry-After, and a request sent then is accepted', async () => {
    const { key } = await context.organisation();
    await balance(key);
    await balance(key);
    await context.stores.keys.flush();
    context.commands.length = 0;
    const denied = await balance(key);
    expect(denied.status).to.equal(429);
    expect(context.commands, 'the first denial').to.deep.equal(['aggregate keys', 'findAndModify limits']);
    showCount(context.commands.length, 'MongoDB commands of the first 429 of a key');
    const seconds = Number(denied.headers.get('retry-after'));
    expect(seconds).to.be.within(1, 5);

    context.commands.length = 0;
    await pause(1100);
    const again = await Promise.all(Array.from({ length: 20 }, () => balance(key)));
    expect(context.commands, 'further denials').to.deep.equal([]);
    showCount(context.commands.length, 'MongoDB commands of 20 further requests of that key until Retry-After');
    for (const { status, body, headers } of again) {
      expect([status, body.detail]).to.deep.equal([429, 'rate_limit_exceeded']);
      const left = Number(headers.get('retry-after'));
      expect(left).to.be.within(1, seconds - 1);
      expect(headers.get('ratelimit-policy')).to.equal('"key";q=2;w=5');
      expect(headers.get('ratelimit')).to.equal(`"key";r=0;t=${left}`);
    }
    await pause(Number(again.at(-1)!.headers.get('retry-after')) * 1000);
    expect((await balance(key)).status).to.equal(200);
  });

  it('by a limit of the organisation is remembered for all its keys, on the routes of that limit only', async () => {
    const { id, key } = await context.organisation({ credits: 20 });
    const submit = (one: string) => context.request('POST', '/v1/ci/scans', { key: one, body: SUBMISSION });
    expect((await submit(key)).status).to.equal(202);
    const { secret: other } = await issueKey(context.stores.keys, id);
    expect((await submit(other)).status).to.equal(429);
    await context.stores.keys.flush();

    context.commands.length = 0;
    const denied = await submit(other);
    expect([denied.status, context.commands]).to.deep.equal([429, []]);
    expect(Number(denied.headers.get('retry-after'))).to.be.within(6, 61);
    expect((await submit(key)).status).to.equal(429);
    expect(context.commands, 'the other key').to.deep.equal(['aggregate keys']);
    expect((await balance(other)).status).to.equal(200);
    expect((await balance(key)).status).to.equal(200);
  });
});

describe('an unknown key', () => {
  let context: ApiContext;
  let made = 0;
  beforeEach(async () => {
    context = await startContext();
  });
  afterEach(() => context?.close());
  const unknownKey = () =>
    makeKey((count) => {
      made += 1;
      return Uint8Array.from({ length: count }, (_, index) => (made >> (4 * (index % 4))) & 15);
    });
  const statusOf = async (key: string) => (await context.request('GET', '/v1/billing/credits', { key })).status;

  it('is looked up once a minute', async () => {
    const key = unknownKey();
    context.commands.length = 0;
    for (let count = 0; count < 5; count += 1) expect(await statusOf(key)).to.equal(401);
    expect(context.commands).to.deep.equal(['aggregate keys']);
  });

  it('gets 429 after 60 from one address, and never affects a valid key', async () => {
    const { id, key } = await context.organisation();
    expect(await statusOf(key)).to.equal(200);
    for (let count = 0; count < 60; count += 1) expect(await statusOf(unknownKey())).to.equal(401);
    const denied = await context.request('GET', '/v1/billing/credits', { key: unknownKey() });
    expect([denied.status, denied.body.detail]).to.deep.equal([429, 'rate_limit_exceeded']);
    expect(Number(denied.headers.get('retry-after'))).to.be.within(1, 61);
    expect(denied.headers.get('ratelimit-policy')).to.equal('"invalid-keys";q=60;w=60');

    const { secret: fresh } = await issueKey(context.stores.keys, id);
    context.commands.length = 0;
    const flood = Array.from({ length: 300 }, () => statusOf(unknownKey()));
    expect(await statusOf(fresh), 'a valid key that this replica has not seen').to.equal(200);
    expect(await statusOf(key)).to.equal(200);
    expect(new Set(await Promise.all(flood))).to.deep.equal(new Set([429]));
    const lookups = context.commands.filter((command) => command === 'aggregate keys').length;
    expect(lookups, 'look-ups of 302 keys').to.be.below(60);
  });
});

describe('without a free connection to the database, the API', () => {
  it('says that it is busy, instead of counting limits on its own', async () => {
    const context = await startContext();
    try {
      const { key } = await context.organisation();
      const exhausted = Object.assign(new Error('timed out'), { name: 'MongoWaitQueueTimeoutError' });
      context.faults.set('rateLimits.admit', () => Promise.reject(exhausted));
      const { status, body, headers } = await context.request('GET', '/v1/billing/credits', { key });
      expect([status, body.detail, headers.get('retry-after')]).to.deep.equal([503, 'replica_busy', '5']);
    } finally {
      await context.close();
    }
  });
});
