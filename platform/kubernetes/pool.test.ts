import { expect } from 'chai';
import { createPools } from './transport.ts';

describe('Kubernetes connection pool', () => {
  it('is reused while the certificates are equal, and replaced when they are rotated', async () => {
    const pools = createPools();
    const first = pools.use({ ca: Buffer.from('CA'), cert: Buffer.from('one') });
    expect(pools.use({ ca: Buffer.from('CA'), cert: Buffer.from('one') })).to.equal(first);
    const second = pools.use({ ca: Buffer.from('CA'), cert: Buffer.from('two') });
    expect(second).not.to.equal(first);
    expect(pools.use(second.tls)).to.equal(second);
    await pools.close();
  });

  it('is replaced after it is retired', async () => {
    const pools = createPools();
    const first = pools.use({});
    pools.retire(first);
    const second = pools.use({});
    expect(second).not.to.equal(first);
    pools.retire(first);
    expect(pools.use({})).to.equal(second);
    await pools.close();
  });
});
