import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { pinned } from './pin-base.ts';

const DIGEST = `sha256:${'ab'.repeat(32)}`;

describe('the digest of the base', () => {
  let server: Server;
  let address: string;
  before(async () => {
    server = createServer((request, response) => {
      const url = new URL(request.url!, `http://${address}`);
      if (url.pathname === '/token') {
        const token = `${url.searchParams.get('service')} ${url.searchParams.get('scope')}`;
        return void response.end(JSON.stringify({ token: Buffer.from(token).toString('hex') }));
      }
      if (url.pathname !== '/v2/library/node/manifests/24') return void response.writeHead(404).end();
      const token = Buffer.from('here repository:library/node:pull').toString('hex');
      if (request.headers.authorization === `Bearer ${token}` && request.headers.accept?.includes('image.index'))
        return void response.writeHead(200, { 'docker-content-digest': DIGEST }).end();
      const challenge = `Bearer realm="http://${address}/token",service="here",scope="repository:library/node:pull"`;
      response.writeHead(401, { 'www-authenticate': challenge }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => new Promise((resolve) => server.close(resolve)));

  it('is that of the registry, asked with an anonymous token', async () => {
    expect(await pinned(`${address}/library/node:24\n`, 'http:')).to.equal(`${address}/library/node:24@${DIGEST}`);
  });

  it('replaces an older one', async () => {
    expect(await pinned(`${address}/library/node:24@sha256:${'00'.repeat(32)}`, 'http:')).to.equal(`${address}/library/node:24@${DIGEST}`);
  });

  it('is not written if there is none', async () => {
    const failure = async (reference: string) => pinned(reference, 'http:').catch((error: Error) => error.message);
    expect(await failure(`${address}/library/node:25`)).to.equal(
      `http://${address}/v2/library/node/manifests/25 answered 404, without a digest`,
    );
    expect(await failure('node')).to.equal('node must be REGISTRY/NAME:TAG');
  });
});
