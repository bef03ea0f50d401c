import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { freePort } from './product.ts';
import { backendOf, namedAddress, startFront, type Front } from './container.ts';

describe('the front of a container', () => {
  const servers: Server[] = [];
  let front: Front;
  let port: number;
  /** Streams of `/events` whose reader left. */
  let left = 0;

  async function serve(name: string): Promise<string> {
    const server = createServer((incoming, response) => {
      if (incoming.url === '/events') {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: first\n\n');
        return void response.on('close', () => (left += 1));
      }
      if (incoming.url === '/crash') return void incoming.socket.destroy();
      void text(incoming).then((body) => {
        response.writeHead(202, { 'x-server': name, 'set-cookie': ['a=1', 'b=2'] });
        response.end(`${incoming.method} ${incoming.headers.host} ${incoming.url} ${body}`);
      });
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  before(async () => {
    const [api, inbox, demo, objects] = await Promise.all(['api', 'inbox', 'demo', 'objects'].map(serve));
    port = await freePort();
    front = await startFront({
      host: '127.0.0.1',
      port,
      api: api!,
      inbox: inbox!,
      demo: demo!,
      objects: { address: objects!, bucket: 'curbcut' },
    });
  });
  after(async () => {
    await front.close();
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  });

  const ask = (path: string, host = `127.0.0.1:${port}`, body?: string) =>
    new Promise<{ status: number; server: string; cookies: number; body: string }>((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, path, headers: { host }, method: body === undefined ? 'GET' : 'POST' }, (answer) => {
        void text(answer).then((received) =>
          resolve({
            status: answer.statusCode!,
            server: String(answer.headers['x-server']),
            cookies: answer.headers['set-cookie']?.length ?? 0,
            body: received,
          }),
        );
      });
      sent.on('error', reject).end(body);
    });

  it('passes requests to the API, with their host, body and cookies', async () => {
    expect(await ask('/v1/me?x=%2F', 'box.example:9090', 'hello')).to.deep.equal({
      status: 202,
      server: 'api',
      cookies: 2,
      body: 'POST box.example:9090 /v1/me?x=%2F hello',
    });
  });

  it('passes downloads to the object store, and names below localhost to the inbox and the demo site', async () => {
    expect((await ask('/curbcut/reports/1.pdf?X-Amz-Signature=1')).server).to.equal('objects');
    expect((await ask('/curbcut-news')).server).to.equal('api');
    expect((await ask('/', `inbox.localhost:${port}`)).server).to.equal('inbox');
    expect((await ask('/curbcut/', `DEMO.localhost:${port}`)).server).to.equal('demo');
  });

  it('passes nothing to a real object store, which people reach by its own address', () => {
    const addresses = { api: 'http://api', inbox: null, demo: 'http://demo', objects: null };
    const options = { host: '127.0.0.1', port: 0, ...addresses };
    expect(backendOf({ url: '/curbcut/reports/1.pdf', headers: {} }, options)).to.equal('http://api');
  });

  it('ends a stream when its reader leaves', async () => {
    const sent = request({ host: '127.0.0.1', port, path: '/events' }).end();
    sent.on('error', () => undefined);
    await new Promise<void>((resolve) => sent.on('response', (answer) => answer.once('data', () => resolve())));
    sent.destroy();
    for (let tries = 0; left === 0 && tries < 200; tries += 1) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(left).to.equal(1);
  });

  it('answers 502 if the server ends', async () => {
    expect((await ask('/crash')).status).to.equal(502);
  });

  it('has names for browsers on the same machine only', () => {
    expect(namedAddress('inbox', 'http://127.0.0.1:9090')).to.equal('http://inbox.localhost:9090');
    expect(namedAddress('demo', 'http://localhost')).to.equal('http://demo.localhost');
    expect(namedAddress('inbox', 'https://box.example')).to.equal(null);
  });
});
