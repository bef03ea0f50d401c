import { expect } from 'chai';
import { createCredentials } from './credentials.ts';
import { createNetworkLimits } from './network-limits.ts';

describe('credentials', () => {
  let valid: Set<string>;
  let calls: string[];
  const start = (limit = 60) => {
    valid = new Set();
    calls = [];
    const find = (secret: string) => (valid.has(secret) ? `holder of ${secret}` : null);
    const store = {
      recognise: (secret: string) => {
        calls.push(secret);
        return Promise.resolve(find(secret));
      },
      recogniseAll: (secrets: readonly string[]) => {
        calls.push(secrets.join(' '));
        return Promise.resolve(new Map(secrets.flatMap((secret) => (valid.has(secret) ? [[secret, find(secret)!]] : []))));
      },
    };
    const limits = createNetworkLimits({ sizes: { 'invalid-keys': { limit, windowSeconds: 60 } } });
    const { check } = createCredentials({ store, wellFormed: (secret) => secret !== 'malformed', limits });
    return async (secret: string, address = '192.0.2.1') => {
      const checked = await check(secret, address);
      return checked.ok ? checked.holder : checked.reason;
    };
  };

  it('that are malformed cost nothing and are not counted', async () => {
    const check = start(1);
    for (let n = 0; n < 3; n += 1) expect(await check('malformed')).to.equal('invalid');
    expect(await check('unknown')).to.equal('invalid');
    expect(calls).to.deep.equal(['unknown']);
  });

  it('that are unknown are looked up once, and counted each time', async () => {
    const check = start(2);
    expect([await check('a'), await check('a'), await check('a')]).to.deep.equal(['invalid', 'invalid', 'rate_limited']);
    expect(calls).to.deep.equal(['a']);
    expect(await check('a', '198.51.100.1'), 'from another network').to.equal('invalid');
  });

  it('that are valid are looked up each time, so that a revocation takes effect at once, and are never counted', async () => {
    const check = start(1);
    valid.add('key');
    for (let n = 0; n < 3; n += 1) expect(await check('key')).to.equal('holder of key');
    valid.delete('key');
    expect(await check('key')).to.equal('invalid');
    expect(calls).to.deep.equal(['key', 'key', 'key', 'key']);
    expect(await check('key'), 'not looked up again').to.equal('rate_limited');
    expect(calls).to.have.length(4);
  });

  it('that are valid are accepted from a network above its limit, also for the first time', async () => {
    const check = start(1);
    for (const one of ['a', 'b', 'c']) await check(one);
    valid.add('key');
    expect(await check('key')).to.equal('holder of key');
    expect(await check('d')).to.equal('rate_limited');
  });

  it('are not counted if the look-up failed', async () => {
    const limits = createNetworkLimits({ sizes: { 'invalid-keys': { limit: 1, windowSeconds: 60 } } });
    const down = () => Promise.reject(new Error('down'));
    const { check } = createCredentials({ store: { recognise: down, recogniseAll: down }, wellFormed: () => true, limits });
    for (let n = 0; n < 3; n += 1) expect(await check('key', '192.0.2.1').catch((error: Error) => error.message)).to.equal('down');
    expect(limits.admit('invalid-keys', '192.0.2.1').ok).to.equal(true);
  });
});
