/** Health, metrics, unknown paths, malformed HTTP, and shutdown. */
import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { eventually, useContext, SUBMISSION } from './context.ts';
import { PUBLIC_SCANS } from './public-context.ts';
import type { Replica } from './replica.ts';

const context = useContext({ requestTimeoutMs: 200 });

describe('health', () => {
  it('/healthz does not depend on other services', async () => {
    expect((await context.request('GET', '/healthz')).body).to.deep.equal({ status: 'ok' });
  });

  it('/readyz and /metrics are not on the public port', async () => {
    for (const path of ['/readyz', '/metrics', '/metrics/', '/debug/pprof']) {
      const { status, body } = await context.request('GET', path);
      expect([path, status, body.detail]).to.deep.equal([path, 404, 'not_found']);
    }
  });
});

describe('metrics', () => {
  it('counts by route pattern, never by path', async () => {
    const { id, key } = await context.organisation({ credits: 5 });
    const row = await context.scan(id);
    await context.request('GET', `/v1/ci/scans/${row.id}`, { key });
    await context.request('GET', `/wp-login-${row.id}.php`);
    await context.request('POST', '/v1/ci/scans', { key, body: SUBMISSION });
    const text = await context.scrape();
    expect(text).to.include('curbcut_http_request_duration_seconds_count{method="GET",route="/v1/ci/scans/:scan_id",status="202"} 1');
    expect(text).to.include('route="unmatched"').and.not.include(row.id);
    expect(text).to.match(/curbcut_submissions_total\{outcome="accepted"\} [1-9]/);
    for (const [, name] of text.matchAll(/^# TYPE (\S+)/gm)) expect(name).to.match(/^curbcut_/);
  });
});

describe('unknown paths and methods', () => {
  for (const [method, path] of [
    ['GET', '/v1'],
    ['GET', '/%zz'],
    ['HEAD', '/nothing'],
    // The router would take the slash for an empty ID of `/v1/ci/scans/:scan_id`.
    ['POST', '/v1/ci/scans/'],
    ['GET', '/v1/ci/scans/'],
    ['GET', '/v1/ci/scans//events'],
  ] as const)
    it(`${method} ${path} answers 404`, async () => {
      const { status, body } = await context.request(method, path);
      expect(status).to.equal(404);
      if (method !== 'HEAD') expect(body).to.have.keys('detail', 'message', 'docs_url', 'request_id').and.include({ detail: 'not_found' });
    });

  for (const [method, path, allow] of [
    ['PATCH', '/v1/api-keys/x', 'DELETE, GET, HEAD'],
    ['OPTIONS', '/v1/billing/credits', 'GET, HEAD'],
  ] as const)
    it(`${method} ${path} answers 405 with Allow: ${allow}`, async () => {
      const { status, body, headers } = await context.request(method, path);
      expect([status, body.detail]).to.deep.equal([405, 'method_not_allowed']);
      expect(headers.get('allow')!.split(', ').sort()).to.deep.equal(allow.split(', ').sort());
    });
});

describe('every method that Node parses', () => {
  // fetch sends neither TRACE nor CONNECT.
  const send = async (method: string, path: string) => {
    const text = await context.raw(`${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    const [head = '', body = ''] = text.split('\r\n\r\n');
    const header = (name: string) => new RegExp(`\r\n${name}: ([^\r]*)`, 'i').exec(head)?.[1];
    return { status: Number(head.split(' ')[1]), allow: header('Allow'), requestId: header('X-Request-Id'), body };
  };

  for (const method of ['PATCH', 'TRACE', 'M-SEARCH'])
    it(`${method} gets 405 on a path that does not accept it, and 404 on an unknown path`, async () => {
      for (const [path, allow] of [
        ['/healthz', 'GET, HEAD'],
        ['/v1/ci/scans/x/cancel', 'POST'],
      ] as const) {
        const answer = await send(method, path);
        expect([answer.status, answer.allow?.split(', ').sort().join(', ')], path).to.deep.equal([405, allow]);
        expect(answer.requestId).to.match(/^[0-9a-f-]{36}$/);
        expect(JSON.parse(answer.body)).to.include({ detail: 'method_not_allowed' });
      }
      for (const path of ['/nothing', '/%zz']) {
        const unknown = await send(method, path);
        expect([unknown.status, (JSON.parse(unknown.body) as { detail: string }).detail], path).to.deep.equal([404, 'not_found']);
      }
    });

  it('CONNECT gets 405 without a method to use instead', async () => {
    const { status, allow, requestId, body } = await send('CONNECT', 'example.com:443');
    expect([status, allow]).to.deep.equal([405, '']);
    expect(requestId).to.match(/^[0-9a-f-]{36}$/);
    expect(JSON.parse(body)).to.include({ detail: 'method_not_allowed' });
  });

  it('CONNECT from a client that resets the connection does not stop the process', async () => {
    const { port } = new URL(context.url);
    for (let attempt = 0; attempt < 20; attempt += 1)
      await new Promise((resolve) => {
        const socket = connect(Number(port), '127.0.0.1', () =>
          socket.write('CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n', () => socket.resetAndDestroy()),
        );
        socket.on('close', resolve).on('error', () => undefined);
      });
    expect((await context.request('GET', '/healthz')).status).to.equal(200);
  });

  it('a method that Node does not parse gets 400', async () => {
    expect((await send('FETCH', '/healthz')).status).to.equal(400);
  });
});

describe('a client that resets its connection', () => {
  /** Sends a request, or its start, and resets. The service may read it before it notices. */
  const reset = (replica: Pick<Replica, 'url'>, text: string) =>
    new Promise((resolve) => {
      const socket = connect(Number(new URL(replica.url).port), '127.0.0.1', () => socket.write(text, () => socket.resetAndDestroy()));
      socket.on('close', resolve).on('error', () => undefined);
    });

  for (const trustedProxies of [[], ['127.0.0.1']])
    it(`is no error of the service on any route ${trustedProxies.length > 0 ? 'behind a proxy' : ''}`, async () => {
      const replica = await context.replica({ trustedProxies, publicScans: PUBLIC_SCANS });
      const { key } = await context.organisation();
      const head = ['Host: x', `X-API-Key: ${key}`, 'Content-Type: application/json', 'Content-Length: 2'].join('\r\n');
      const routes = [...replica.app.acceptedMethods()].flatMap(([url, methods]) => [...methods].map((method) => ({ url, method })));
      expect(routes).to.have.length.above(150);
      for (const { url, method } of routes)
        await reset(replica, `${method} ${url.replace(/:\w+|\*/g, randomUUID())} HTTP/1.1\r\n${head}\r\n\r\n{}`);
      await eventually('the end of all requests', async () => /curbcut_http_requests_in_flight 0/.test(await replica.scrape()));
      expect(replica.log.filter(({ level }) => level === 'error')).to.deep.equal([]);
      const scraped = await replica.scrape();
      expect(scraped)
        .to.match(/status="499"/)
        .and.not.match(/status="5/);
    });
});

describe('malformed HTTP', () => {
  for (const [what, text, status, code] of [
    ['text that is not a request', 'hello\r\n\r\n', 400, 'bad_request'],
    ['headers that are too large', `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Filler: ${'x'.repeat(17_000)}\r\n\r\n`, 431, 'headers_too_large'],
    ['a request without a Host header', 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'bad_request'],
    ['a request that never ends', 'POST /v1/ci/scans HTTP/1.1\r\nHost: x\r\nContent-Le', 408, 'request_timeout'],
    ['two lengths', 'POST /v1/ci/scans HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', 400, 'bad_request'],
  ] as const)
    it(`${what} gets ${status} with an error body`, async () => {
      const answer = await context.raw(text);
      expect(answer).to.match(new RegExp(`^HTTP/1.1 ${status} `));
      expect(answer).to.match(/\r\nX-Request-Id: [0-9a-f-]{36}\r\n/i);
      expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)))
        .to.have.keys('detail', 'message', 'docs_url', 'request_id')
        .and.include({ detail: code });
    });
});

describe('a request', () => {
  it('of HTTP/1.0 needs no Host header', async () => {
    expect(await context.raw('GET /healthz HTTP/1.0\r\n\r\n')).to.match(/^HTTP\/1.1 200 /);
  });

  it('with an unknown expectation is answered as if it had none', async () => {
    const answer = await context.raw('GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\nConnection: close\r\n\r\n');
    expect(answer)
      .to.match(/^HTTP\/1.1 200 /)
      .and.match(/\r\nX-Request-Id: /i);
  });
});

describe('shutdown', () => {
  it('finishes a pending request and accepts no new connections', async () => {
    const closing = await context.replica();
    const { key } = await context.organisation();
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let arrived = (): void => undefined;
    const reached = new Promise<void>((resolve) => (arrived = resolve));
    closing.faults.set('credits.balance', async (real, ...parameters) => {
      arrived();
      await held;
      return real(...parameters);
    });
    const request = closing.request('GET', '/v1/billing/credits', { key });
    await reached;
    const closed = closing.close();
    await eventually('the end of listening', () => !closing.app.server.listening);
    release();
    expect((await request).status).to.equal(200);
    await closed;
    const refused = await fetch(`${closing.url}/healthz`).then(
      () => null,
      (error: Error) => error,
    );
    expect(refused).to.be.instanceOf(Error);
  });
});

describe('an unexpected error of a dependency', () => {
  it('gets 500, even if the error has a status of its own', async () => {
    const { key } = await context.organisation();
    context.faults.set('credits.balance', () =>
      Promise.reject(Object.assign(new Error('I am a teapot at secret-host'), { statusCode: 418 })),
    );
    const { status, text } = await context.request('GET', '/v1/billing/credits', { key });
    expect(status).to.equal(500);
    expect(text).to.not.include('secret-host');
  });
});
