import { expect } from 'chai';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectKubernetes } from './connection.ts';
import { KubernetesError, WatchIdleError, type KubernetesConnection, type WatchEvent } from './kubernetes.ts';

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void;

const CONFIGMAPS = { group: '', version: 'v1', plural: 'configmaps' };

describe('connection to Kubernetes', () => {
  let folder: string;
  let server: Server;
  let answer: Answer;
  let sockets: number;
  let connection: KubernetesConnection;
  const seen: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'curbcut-kubernetes-'));
    sockets = 0;
    seen.length = 0;
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', () => {
        seen.push({ method: request.method!, url: request.url!, headers: request.headers, body });
        answer(request, response, body);
      });
    });
    server.on('connection', () => sockets++);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    connection = await connect({ token: 'secret' });
  });

  afterEach(async () => {
    await connection.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true });
  });

  async function connect(user: object, path = '', more: { fieldManager?: string } = {}) {
    const { port } = server.address() as AddressInfo;
    const file = join(folder, 'config');
    // JSON is YAML.
    const config = {
      clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}${path}` } }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'tests' } }],
      'current-context': 'x',
    };
    await writeFile(file, JSON.stringify(config));
    return connectKubernetes({ kubeconfig: file, ...more });
  }

  const json = (response: ServerResponse, code: number, body: unknown, headers: Record<string, string> = {}) => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
  const problemOf = async (promise: Promise<unknown>): Promise<unknown> =>
    promise.then(
      () => expect.fail('it did not fail'),
      (error: unknown) => error,
    );

  it('builds escaped paths of every kind', () => {
    const leases = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' };
    expect(connection.path(CONFIGMAPS)).to.equal('/api/v1/configmaps');
    expect(connection.path(CONFIGMAPS, 'ns', 'a')).to.equal('/api/v1/namespaces/ns/configmaps/a');
    expect(connection.path(leases, 'ns', 'a/../b', 'status')).to.equal(
      '/apis/coordination.k8s.io/v1/namespaces/ns/leases/a%2F..%2Fb/status',
    );
    expect(() => connection.path(CONFIGMAPS, 'ns', '')).to.throw('not a name');
    expect(connection.namespace).to.equal('tests');
  });

  it('sends JSON with the token and reads JSON', async () => {
    answer = (_, response) => json(response, 200, { kind: 'Grüße' });
    const got = await connection.request('PATCH', '/api/v1/x', {
      query: { fieldManager: 'a b', dryRun: undefined, force: true },
      body: { a: 'ü' },
      contentType: 'application/merge-patch+json',
    });
    expect(got).to.deep.equal({ kind: 'Grüße' });
    expect(seen[0]).to.deep.include({
      method: 'PATCH',
      url: '/api/v1/x?fieldManager=a+b&fieldValidation=Strict&force=true',
      body: '{"a":"ü"}',
    });
    expect(seen[0]!.headers).to.include({ authorization: 'Bearer secret', 'content-type': 'application/merge-patch+json' });
  });

  it('names its field manager in writes, and asks for strict validation, and only there', async () => {
    await connection.close();
    connection = await connect({}, '', { fieldManager: 'curbcut-operator' });
    answer = (_, response) => json(response, 200, {});
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) await connection.request(method, '/x', { query: { a: 1 } });
    expect(seen.map(({ method, url }) => `${method} ${url}`)).to.deep.equal([
      'GET /x?a=1',
      'POST /x?fieldManager=curbcut-operator&fieldValidation=Strict&a=1',
      'PUT /x?fieldManager=curbcut-operator&fieldValidation=Strict&a=1',
      'PATCH /x?fieldManager=curbcut-operator&fieldValidation=Strict&a=1',
      'DELETE /x?a=1',
    ]);
  });

  it('keeps the path prefix of the server', async () => {
    await connection.close();
    connection = await connect({}, '/k8s/clusters/one/');
    answer = (_, response) => json(response, 200, {});
    await connection.request('GET', '/version');
    expect(seen[0]!.url).to.equal('/k8s/clusters/one/version');
    expect(seen[0]!.headers).not.to.have.property('authorization');
  });

  it("throws the server's refusal with its reason and message", async () => {
    answer = (_, response) => json(response, 404, { kind: 'Status', reason: 'NotFound', message: 'configmaps "a" not found' });
    const error = (await problemOf(connection.request('GET', '/x'))) as KubernetesError;
    expect(error).to.be.instanceOf(KubernetesError);
    expect(error).to.include({ code: 404, reason: 'NotFound', message: 'configmaps "a" not found', retryAfterSeconds: null });
  });

  it('accepts a refusal that is not JSON', async () => {
    answer = (_, response) => response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad Gateway</h1>');
    const error = (await problemOf(connection.request('POST', '/x', { body: {} }))) as KubernetesError;
    expect(error).to.include({ code: 502, reason: 'Unknown', message: '<h1>Bad Gateway</h1>' });
    expect(seen.length).to.equal(1);
  });

  it('retries when the server sends Retry-After, and only then', async () => {
    let tries = 0;
    answer = (_, response) =>
      ++tries < 3 ? json(response, 429, { reason: 'TooManyRequests' }, { 'retry-after': '0' }) : json(response, 201, {});
    await connection.request('POST', '/x', { body: { a: 1 } });
    expect(seen.map(({ body }) => body)).to.deep.equal(['{"a":1}', '{"a":1}', '{"a":1}']);
    seen.length = 0;
    answer = (_, response) => json(response, 503, { reason: 'ServiceUnavailable' });
    expect(await problemOf(connection.request('GET', '/x'))).to.include({ code: 503 });
    expect(seen.length).to.equal(1);
  });

  it('fails at once if Retry-After exceeds the time limit', async () => {
    answer = (_, response) => json(response, 429, { reason: 'TooManyRequests' }, { 'retry-after': '600' });
    expect(await problemOf(connection.request('GET', '/x', { timeoutMs: 5000 }))).to.include({ code: 429, retryAfterSeconds: 600 });
  });

  it('aborts a request that is not answered in time, and names it', async () => {
    answer = () => {};
    expect(String(await problemOf(connection.request('GET', '/slow', { timeoutMs: 50 })))).to.contain(
      'GET /slow was not answered within 0.05 s',
    );
  });

  it('aborts a request with its signal', async () => {
    const stop = new AbortController();
    answer = () => stop.abort(new Error('enough'));
    expect(String(await problemOf(connection.request('GET', '/x', { signal: stop.signal })))).to.equal('Error: enough');
  });

  it('repeats a read on a connection that the server closed, but never a write', async () => {
    let tries = 0;
    answer = (request, response) => (++tries === 1 ? request.socket.destroy() : json(response, 200, { n: tries }));
    expect(await connection.request('GET', '/x')).to.deep.equal({ n: 2 });
    tries = 0;
    expect(await problemOf(connection.request('POST', '/x', { body: {} }))).to.be.instanceOf(Error);
    expect(tries).to.equal(1);
  });

  it('reads a rotated token when the server refuses the old one', async () => {
    const tokenFile = join(folder, 'token');
    await writeFile(tokenFile, 'old\n');
    await connection.close();
    connection = await connect({ tokenFile: 'token' });
    answer = (request, response) => json(response, request.headers.authorization === 'Bearer new' ? 200 : 401, { reason: 'Unauthorized' });
    expect(await problemOf(connection.request('GET', '/x'))).to.include({ code: 401 });
    await writeFile(tokenFile, 'new\n');
    await connection.request('GET', '/x');
    expect(seen.map(({ headers }) => headers.authorization)).to.deep.equal(['Bearer old', 'Bearer old', 'Bearer old', 'Bearer new']);
  });

  describe('watch', () => {
    const take = async (events: AsyncIterable<WatchEvent<{ name: string }>>) => {
      const got: string[] = [];
      for await (const { type, object } of events) got.push(`${type} ${object.name}`);
      return got;
    };
    const watch = (signal = new AbortController().signal, idleMs = 5000) =>
      connection.watch<{ name: string }>('/watched', { query: { resourceVersion: '5' }, signal, idleMs });

    it('assembles events from chunks of any size', async () => {
      const bytes = Buffer.from(
        ['ADDED', 'MODIFIED', 'BOOKMARK'].map((type) => `${JSON.stringify({ type, object: { name: 'Łódź 🚲' } })}\n`).join(''),
      );
      const trickle = async (response: ServerResponse) => {
        for (const byte of bytes) {
          response.write(Buffer.from([byte]));
          await new Promise((resolve) => setImmediate(resolve));
        }
        response.end();
      };
      answer = (_, response) => void trickle(response.writeHead(200));
      expect(await take(watch())).to.deep.equal(['ADDED Łódź 🚲', 'MODIFIED Łódź 🚲', 'BOOKMARK Łódź 🚲']);
      expect(seen[0]!.url).to.equal('/watched?resourceVersion=5&watch=true');
    });

    it('throws if nothing arrives for too long', async () => {
      answer = (_, response) => {
        response.writeHead(200);
        response.write('{"type":"ADDED","object":{"name":"a"}}\n');
      };
      const got: string[] = [];
      const error = await problemOf(
        (async () => {
          for await (const { object } of watch(undefined, 1000)) got.push(object.name);
        })(),
      );
      expect(error).to.be.instanceOf(WatchIdleError);
      expect(got).to.deep.equal(['a']);
    });

    it('throws if no headers arrive', async () => {
      answer = () => {};
      expect(await problemOf(take(watch(undefined, 1000)))).to.be.instanceOf(WatchIdleError);
    });

    it('throws if the connection breaks or ends within an event', async () => {
      answer = (_, response) => {
        response.writeHead(200);
        response.write('{"type":"ADDED","object":{"name":"a"}}\n{"type":', () => response.socket?.destroy());
      };
      expect(await problemOf(take(watch()))).to.be.instanceOf(Error);
      answer = (_, response) => response.writeHead(200).end('{"type":');
      expect(String(await problemOf(take(watch())))).to.contain('in the middle of an event');
    });

    it('throws when the server refuses', async () => {
      answer = (_, response) => json(response, 410, { reason: 'Expired', message: 'too old' });
      expect(await problemOf(take(watch()))).to.include({ code: 410, reason: 'Expired' });
    });

    it('ends without an error when its signal aborts, and closes its connection', async () => {
      const stop = new AbortController();
      const gone = Promise.withResolvers<void>();
      answer = (_, response) => {
        response.writeHead(200);
        response.write('{"type":"ADDED","object":{"name":"a"}}\n');
        response.on('close', gone.resolve);
      };
      const got: string[] = [];
      for await (const { object } of watch(stop.signal)) {
        got.push(object.name);
        stop.abort();
      }
      expect(got).to.deep.equal(['a']);
      await gone.promise;
    });
  });
});
