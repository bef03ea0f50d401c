import { createServer, type AddressInfo } from 'node:net';
import { expect } from 'chai';
import { hostInUrl, listenAddress, ownAddress } from './listen.ts';
import { serveProbes } from './probe-server.ts';

describe('listenAddress', () => {
  it('keeps an address, and returns one on which this machine can listen for all interfaces', async () => {
    expect(await listenAddress('127.0.0.1')).to.equal('127.0.0.1');
    const address = await listenAddress('::');
    const server = createServer();
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, address, resolve));
    expect((server.address() as AddressInfo).address).to.equal(address);
    await new Promise((resolve) => server.close(resolve));
  });

  it('lets a server answer at both families', async () => {
    const readiness = () => ({ ready: true, missing: [], dependencies: {} });
    const server = await serveProbes({ host: '::', port: 0, metrics: { contentType: '', metrics: async () => '' }, readiness });
    for (const host of ['127.0.0.1', ownAddress('::')]) {
      const answer = await fetch(`http://${hostInUrl(host)}:${server.port}/healthz`);
      expect(answer.status, host).to.equal(200);
    }
    await server.close();
  });
});
