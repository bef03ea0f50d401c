import { expect } from 'chai';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { createSecureServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAuthority } from '../../test/support/private-authority.ts';
import { connectKubernetes } from './connection.ts';
import { WatchIdleError, type KubernetesConnection, type SocketUse } from './kubernetes.ts';

describe('sockets to the Kubernetes API', () => {
  let folder: string;
  let server: Server;
  let connection: KubernetesConnection;
  let stop: AbortController;
  let open: Partial<Record<SocketUse, number>>;
  let most: Partial<Record<SocketUse, number>>;
  /** The responses that the server has not ended, by path. */
  let pending: Map<string, ServerResponse>;
  let arrived: (path: string) => void;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'curbcut-sockets-'));
    [stop, open, most, pending, arrived] = [new AbortController(), {}, {}, new Map(), () => undefined];
    server = createServer((request, response) => {
      const path = request.url!.split('?')[0]!;
      if (path === '/answered') return response.end('{}');
      pending.set(path, response);
      if (path.startsWith('/watch')) response.writeHead(200).flushHeaders();
      arrived(path);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    await connect({ server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  });

  async function connect(cluster: object): Promise<void> {
    const kubeconfig = join(folder, 'config');
    const config = {
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: {} }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
    // JSON is YAML.
    await writeFile(kubeconfig, JSON.stringify(config));
    connection = connectKubernetes({
      kubeconfig,
      onSockets(use, number) {
        open[use] = number;
        most[use] = Math.max(most[use] ?? 0, number);
      },
    });
  }

  afterEach(async () => {
    stop.abort();
    await connection.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true });
  });

  /** Resolves when the server has so many requests that it has not answered. */
  const received = (count: number) =>
    new Promise<void>((resolve) => {
      arrived = () => pending.size >= count && resolve();
      arrived('');
    });

  async function watch(path: string): Promise<{ names: string[]; error?: unknown }> {
    const names: string[] = [];
    try {
      for await (const { object } of connection.watch<{ name: string }>(path, { query: {}, signal: stop.signal, idleMs: 60_000 }))
        names.push(object.name);
      return { names };
    } catch (error) {
      return { names, error };
    }
  }
  const event = (name: string) => `${JSON.stringify({ type: 'ADDED', object: { name } })}\n`;

  it('are never those of a watch for a request, however many watches are open', async () => {
    const watches = Array.from({ length: 100 }, (_, index) => watch(`/watch/${index}`));
    await received(100);
    for (const sockets of ['requests', 'lists'] as const) await connection.request('GET', '/answered', { sockets });
    expect(open).to.deep.equal({ requests: 1, lists: 1, watches: 100 });
    for (const response of pending.values()) response.end(event('last'));
    expect(await Promise.all(watches)).to.deep.equal(Array.from({ length: 100 }, () => ({ names: ['last'] })));
  });

  it('are shared by watches over HTTP/2, and by nothing else; one that ends, or whose connection closes, leaves the others', async () => {
    const authority = createAuthority('cluster');
    const { key, certificate } = authority.issue();
    const streams = new Map<string, ServerHttp2Stream>();
    let all = (): void => undefined;
    const secure = createSecureServer({ key, cert: certificate, allowHTTP1: true, settings: { maxConcurrentStreams: 100 } });
    secure.on('request', (request, response) => {
      if (request.httpVersionMajor === 1) return response.end('{}');
      streams.set(request.url, response.stream as ServerHttp2Stream);
      response.writeHead(200);
      response.write(event('first'));
      if (streams.size === 150) all();
    });
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
    try {
      await connection.close();
      const server = `https://127.0.0.1:${(secure.address() as AddressInfo).port}`;
      await connect({ server, 'certificate-authority-data': Buffer.from(authority.bundle).toString('base64') });
      const opened = new Promise<void>((resolve) => (all = resolve));
      const watches = Array.from({ length: 150 }, (_, index) => watch(`/watch/${index}`));
      await opened;
      for (const sockets of ['requests', 'lists', 'heartbeats'] as const) await connection.request('GET', '/answered', { sockets });
      expect(open).to.deep.equal({ requests: 1, lists: 1, heartbeats: 1, watches: 2 });
      const of = (index: number) => [...streams].find(([url]) => url.startsWith(`/watch/${index}?`))![1];
      of(0).end(event('last'));
      expect(await watches[0]).to.deep.equal({ names: ['first', 'last'] });
      const broken = of(1).session!;
      const onBroken = watches.filter((_, index) => index > 0 && of(index).session === broken);
      broken.destroy();
      const ended = await Promise.all(onBroken);
      expect(ended.map(({ names }) => names)).to.deep.equal(ended.map(() => ['first']));
      for (const stream of streams.values()) if (!stream.destroyed) stream.end(event('last'));
      const outcomes = await Promise.all(watches);
      expect(outcomes.filter(({ names }) => names.at(-1) === 'last')).to.have.length(150 - ended.length);
    } finally {
      await connection.close();
      await new Promise((resolve) => secure.close(resolve));
    }
  });

  it('are limited for requests and for lists, and neither delays the other or the lease', async () => {
    const endless = { signal: stop.signal, timeoutMs: 60_000 };
    const hanging = Array.from({ length: 200 }, (_, index) => [
      connection.request('GET', `/hangs/${index}`, endless),
      connection.request('GET', `/list/${index}`, { ...endless, sockets: 'lists' }),
    ]).flat();
    await received(64 + 16);
    await connection.request('GET', '/answered', { sockets: 'heartbeats' });
    expect(most).to.deep.equal({ requests: 64, lists: 16, heartbeats: 1 });
    stop.abort();
    await Promise.allSettled(hanging);
  });

  it('stay open after the process was suspended, if bytes have arrived in the meantime', async () => {
    const watched = watch('/watch/a');
    await received(1);
    // Without it, the headers of the watch might arrive only after the slow request was sent.
    for (let request = 0; request < 5; request++) await connection.request('GET', '/answered');
    const slow = connection.request('GET', '/slow', { timeoutMs: 200 }).catch(String);
    await received(2);
    pending.get('/watch/a')!.write(event('one'));
    const resumes = performance.now() + 400;
    while (performance.now() < resumes);
    expect(await slow).to.contain('was not answered');
    pending.get('/watch/a')!.end(event('two'));
    expect(await watched).to.deep.equal({ names: ['one', 'two'] });
  });

  it('of watches are given up if the server says nothing on any of them during a whole request', async () => {
    const watched = watch('/watch/a');
    await received(1);
    // The headers of the watch may arrive after the first request was sent, but not after the second.
    for (let request = 0; request < 2; request++) await connection.request('GET', '/slow', { timeoutMs: 200 }).catch(String);
    expect((await watched).error).to.be.instanceOf(WatchIdleError);
  });
});
