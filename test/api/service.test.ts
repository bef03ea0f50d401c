/** OpenAPI document, health, metrics, unknown paths, malformed HTTP, and shutdown. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect } from 'chai';
import { ERROR_CODES } from '../../api/errors.ts';
import { down } from './replica.ts';
import { eventually, startContext, SUBMISSION, type ApiContext } from './context.ts';

let context: ApiContext;
before(async function () {
  context = await startContext({ requestTimeoutMs: 200 });
});
after(() => context?.close());
afterEach(() => context.faults.clear());

describe('OpenAPI document', () => {
  it('is 3.1 and lists every route with a unique operation ID and its authentication', async () => {
    const { status, body } = await context.request('GET', '/openapi.json');
    expect(status).to.equal(200);
    expect(body).to.deep.include({ openapi: '3.1.0', servers: [{ url: 'https://curbcut.example' }] });
    expect(body.components.securitySchemes.apiKey).to.include({ type: 'apiKey', in: 'header', name: 'X-API-Key' });
    expect(Object.keys(body.paths)).to.have.members([
      '/v1/ci/scans',
      '/v1/ci/scans/{scan_id}',
      '/v1/ci/scans/{scan_id}/events',
      '/v1/scans/{scan_id}/report',
      '/v1/scans/{scan_id}/report/json',
      '/v1/billing/credits',
      '/v1/api-keys',
      '/v1/api-keys/{key_id}',
      '/openapi.json',
      '/schemas/report-v1.json',
      '/healthz',
      '/readyz',
      '/metrics',
    ]);
    const operations = Object.entries(
      body.paths as Record<string, Record<string, { operationId: string; security?: unknown; responses: object }>>,
    ).flatMap(([path, methods]) => Object.values(methods).map((operation) => ({ path, ...operation })));
    expect(new Set(operations.map(({ operationId }) => operationId)).size).to.equal(operations.length);
    for (const { path, security, responses } of operations) {
      expect(security !== undefined, path).to.equal(path.startsWith('/v1/'));
      if (path.startsWith('/v1/')) expect(Object.keys(responses)).to.include.members(['401', '403', '429', '503']);
    }
  });

  it('has plain enums, no artefacts of its generation, and only valid references', async () => {
    const { text, body } = await context.request('GET', '/openapi.json');
    expect(text).to.not.match(/"def-\d|"const":|"\$id"|"anyOf":\[\{"type":"string","enum":\["[^"]*"\]\}/);
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) expect(body.components.schemas).to.have.property(name!);
    expect(body.components.schemas.Error.properties.detail.enum).to.deep.equal(ERROR_CODES);
    expect(body.components.schemas.ScanResult.properties.score.type).to.deep.equal(['number', 'null']);
    const headers = body.paths['/v1/ci/scans'].post.responses['202'].headers;
    expect(headers.Location).to.deep.include({ required: true, schema: { type: 'string' } });
    const limit = body.paths['/v1/ci/scans'].post.requestBody.content['application/json'].schema.properties.max_pages;
    expect(limit).to.deep.include({ type: 'integer', minimum: 1, maximum: 500, default: 5 });
  });

  it('states the configured maximum number of pages', async () => {
    const small = await context.replica({ maxPagesLimit: 3 });
    const schema = small.document.paths['/v1/ci/scans']!.post as unknown as {
      requestBody: { content: Record<string, { schema: { properties: object } }> };
    };
    expect(schema.requestBody.content['application/json']!.schema.properties).to.have.nested.property('max_pages.maximum', 3);
    const { key } = await context.organisation({ credits: 9 });
    expect((await small.request('POST', '/v1/ci/scans', { key, body: { ...SUBMISSION, max_pages: 4 } })).status).to.equal(422);
    expect((await small.request('POST', '/v1/ci/scans', { key, body: SUBMISSION })).body.pages_requested).to.equal(3);
  });

  it('is shown at /docs without internet access', async () => {
    const page = await context.request('GET', '/docs');
    expect(page.status).to.equal(200);
    const assets = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path!);
    expect(assets).to.not.have.lengthOf(0);
    for (const path of assets) {
      expect(path).to.match(/^\/docs\//);
      expect((await context.request('GET', path)).status).to.equal(200);
    }
    expect(page.headers.get('content-security-policy')).to.include("default-src 'none'").and.not.include('http');
    expect((await context.request('GET', '/docs/static/none.js')).status).to.equal(404);
  });
});

describe('GET /schemas/report-v1.json', () => {
  it('is a JSON Schema that rejects an incomplete report', async () => {
    const { body } = await context.request('GET', '/schemas/report-v1.json');
    expect(body.$schema).to.equal('https://json-schema.org/draft/2020-12/schema');
    const validate = addFormats.default(new Ajv2020({ strict: false })).compile(body);
    expect(validate({ schema_version: 1 })).to.equal(false);
    expect(validate.errors?.[0]?.keyword).to.equal('required');
  });
});

describe('health', () => {
  it('/healthz does not depend on other services', async () => {
    expect((await context.request('GET', '/healthz')).body).to.deep.equal({ status: 'ok' });
  });

  it('/readyz lists unavailable dependencies, and is 503 only if one of them is required', async () => {
    const ready = await context.request('GET', '/readyz');
    expect([ready.status, ready.body]).to.deep.equal([
      200,
      { status: 'ready', missing: ['nats'], dependencies: { mongodb: 'ok', kubernetes: 'ok', objects: 'ok', nats: 'missing' } },
    ]);
    for (const name of ['mongodb', 'kubernetes', 'objects']) {
      const real = context.probes[name]!;
      context.probes[name] = { required: true, check: down };
      const { status, body } = await context.request('GET', '/readyz');
      context.probes[name] = real;
      expect([status, body.status, body.missing]).to.deep.equal([503, 'not_ready', [name, 'nats']]);
    }
  });

  it('/readyz shares one check among concurrent requests', async () => {
    let checks = 0;
    const real = context.probes.objects!;
    context.probes.objects = { required: true, check: async () => void ((checks += 1), await real.check()) };
    await Promise.all(Array.from({ length: 10 }, () => context.request('GET', '/readyz')));
    context.probes.objects = real;
    expect(checks).to.be.lessThan(10);
  });
});

describe('GET /metrics', () => {
  it('counts by route pattern, never by path', async () => {
    const { id, key } = await context.organisation({ credits: 5 });
    const row = await context.scan(id);
    await context.request('GET', `/v1/ci/scans/${row.id}`, { key });
    await context.request('GET', `/wp-login-${row.id}.php`);
    await context.request('POST', '/v1/ci/scans', { key, body: SUBMISSION });
    const { text } = await context.request('GET', '/metrics');
    expect(text).to.include('curbcut_http_request_duration_seconds_count{method="GET",route="/v1/ci/scans/:scan_id",status="202"} 1');
    expect(text).to.include('route="unmatched"').and.not.include(row.id);
    expect(text).to.match(/curbcut_submissions_total\{outcome="accepted"\} [1-9]/);
    for (const [, name] of text.matchAll(/^# TYPE (\S+)/gm)) expect(name).to.match(/^curbcut_/);
  });

  it('reports the state of each dependency from the last readiness check', async () => {
    const up = async (): Promise<string[]> => {
      await context.request('GET', '/readyz');
      const { text } = await context.request('GET', '/metrics');
      return [...text.matchAll(/^curbcut_dependency_up\{dependency="(\w+)"\} 1$/gm)].map(([, name]) => name!).sort();
    };
    expect(await up()).to.deep.equal(['kubernetes', 'mongodb', 'objects']);
    const real = context.probes.objects!;
    context.probes.objects = { required: true, check: down };
    const without = await up();
    context.probes.objects = real;
    expect(without).to.deep.equal(['kubernetes', 'mongodb']);
  });
});

describe('unknown paths and methods', () => {
  for (const [method, path] of [
    ['GET', '/'],
    ['GET', '/v1'],
    ['POST', '/v2/ci/scans'],
    ['DELETE', '/nothing'],
    ['GET', '/%zz'],
    ['HEAD', '/nothing'],
  ] as const)
    it(`${method} ${path} answers 404`, async () => {
      const { status, body } = await context.request(method, path, method === 'POST' ? { raw: '<xml/>' } : {});
      expect(status).to.equal(404);
      if (method !== 'HEAD') expect(body).to.have.keys('detail', 'message').and.include({ detail: 'not_found' });
    });

  for (const [method, path, allow] of [
    ['GET', '/v1/ci/scans', 'POST'],
    ['PUT', '/v1/api-keys', 'POST, GET, HEAD'],
    ['PATCH', '/v1/api-keys/x', 'DELETE'],
    ['POST', '/healthz', 'GET, HEAD'],
    ['OPTIONS', '/v1/billing/credits', 'GET, HEAD'],
  ] as const)
    it(`${method} ${path} answers 405 with Allow: ${allow}`, async () => {
      const { status, body, headers } = await context.request(method, path, method === 'PUT' ? { raw: '<xml/>' } : {});
      expect([status, body.detail]).to.deep.equal([405, 'method_not_allowed']);
      expect(headers.get('allow')!.split(', ').sort()).to.deep.equal(allow.split(', ').sort());
    });
});

describe('malformed HTTP', () => {
  for (const [what, text, status, code] of [
    ['text that is not a request', 'hello\r\n\r\n', 400, 'bad_request'],
    ['headers that are too large', `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Filler: ${'x'.repeat(17_000)}\r\n\r\n`, 431, 'headers_too_large'],
    ['a request that never ends', 'POST /v1/ci/scans HTTP/1.1\r\nHost: x\r\nContent-Le', 408, 'request_timeout'],
    ['two lengths', 'POST /v1/ci/scans HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', 400, 'bad_request'],
  ] as const)
    it(`${what} gets ${status} with an error body`, async () => {
      const answer = await context.raw(text);
      expect(answer).to.match(new RegExp(`^HTTP/1.1 ${status} `));
      expect(answer).to.match(/\r\nX-Request-Id: [0-9a-f-]{36}\r\n/i);
      expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)))
        .to.have.keys('detail', 'message')
        .and.include({ detail: code });
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
