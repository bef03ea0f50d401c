import { expect } from 'chai';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createPools } from './pool.ts';

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

  it('sends requests through the proxy of the cluster', async () => {
    const seen: string[] = [];
    const proxy = createServer((request, response) => {
      seen.push(`${request.method} ${request.url}`);
      response.end('{}');
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const pools = createPools({ proxyUrl: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` });
    const answer = await pools.use({}).dispatchers.requests.request({ origin: 'http://api.invalid:8080', path: '/version', method: 'GET' });
    expect(await answer.body.json()).to.deep.equal({});
    expect(seen).to.deep.equal(['GET http://api.invalid:8080/version']);
    await pools.close();
    await new Promise((resolve) => proxy.close(resolve));
  });
});
