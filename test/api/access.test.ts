/** Authentication, request IDs and rate limits. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { makeKey } from '../../stores/accounts/key-format.ts';
import { issueKey } from '../support/issue-key.ts';
import { unnamed, type Response } from './replica.ts';
import { useContext, SUBMISSION } from './context.ts';

const KEYED: [method: string, path: string][] = [
  ['POST', '/v1/ci/scans'],
  ['GET', `/v1/ci/scans/${randomUUID()}`],
  ['GET', `/v1/ci/scans/${randomUUID()}/events`],
  ['GET', `/v1/scans/${randomUUID()}/report`],
  ['GET', `/v1/scans/${randomUUID()}/report/json`],
  ['GET', `/v1/scans/${randomUUID()}/report/pictures`],
  ['GET', '/v1/billing/credits'],
  ['POST', '/v1/api-keys'],
  ['GET', '/v1/api-keys'],
  ['GET', '/v1/me'],
  ['DELETE', `/v1/api-keys/${randomUUID()}`],
];

describe('API keys', () => {
  const context = useContext();

  for (const [method, path] of KEYED)
    it(`${method} ${path.replace(/[0-9a-f-]{36}/, '{id}')} requires one and does not reveal why a key is invalid`, async () => {
      const unknown = makeKey((count) => new Uint8Array(count).fill(7));
      const answers = await Promise.all(
        [null, '', 'x', 'svc_live_short', `${unknown.slice(0, -1)}!`, unknown].map((key) =>
          context.request(method, path, { key, raw: method === 'POST' ? '{' : undefined }),
        ),
      );
      for (const { status, text, headers } of answers) {
        expect(status).to.equal(401);
        expect(unnamed(text)).to.equal(unnamed(answers[0]!.text));
        expect(headers.get('www-authenticate')).to.match(/^ApiKey /);
      }
      expect(answers[0]!.body.detail).to.equal('invalid_api_key');
    });

  it('get the same response if expired, revoked or not in the X-API-Key header', async () => {
    const { id, key, keyId } = await context.organisation();
    const expired = await issueKey(context.stores.keys, id, { expiresAt: new Date(Date.now() - 1000) });
    const missing = unnamed((await context.request('GET', '/v1/billing/credits')).text);
    expect(unnamed((await context.request('GET', '/v1/billing/credits', { key: expired.secret })).text)).to.equal(missing);
    expect((await context.request('GET', `/v1/billing/credits?api_key=${key}&X-API-Key=${key}`)).status).to.equal(401);
    expect((await context.request('GET', '/v1/billing/credits', { headers: { Authorization: `Bearer ${key}` } })).status).to.equal(401);
    await context.stores.keys.revoke(id, keyId);
    expect(unnamed((await context.request('GET', '/v1/billing/credits', { key })).text)).to.equal(missing);
  });

  it('of a blocked organisation get 403 on every route, and work again after unblocking', async () => {
    const { id, key } = await context.organisation({ credits: 5 });
    await context.stores.organisations.setBlocked(id, true);
    for (const [method, path] of KEYED) {
      const { status, body } = await context.request(method, path, { key, body: method === 'POST' ? SUBMISSION : undefined });
      expect([status, body.detail]).to.deep.equal([403, 'account_blocked']);
    }
    await context.stores.organisations.setBlocked(id, false);
    expect((await context.request('GET', '/v1/billing/credits', { key })).status).to.equal(200);
  });

  it('of an organisation that its manifest blocks, or whose manifest is deleted, get 403 at once', async () => {
    const { id, key } = await context.organisation({ credits: 5 });
    const { organisations } = context.stores;
    const status = async () => (await context.request('POST', '/v1/ci/scans', { key, body: SUBMISSION })).status;
    const version = (generation: number) => ({ uid: 'u1', createdAt: new Date(), generation });
    const spec = { displayName: id, plan: 'team' };
    await organisations.handOver(id, 'manifest');
    await organisations.applyManifest(id, version(1), { ...spec, blocked: true });
    expect(await status()).to.equal(403);
    await organisations.applyManifest(id, version(2), { ...spec, blocked: false });
    expect(await status()).to.equal(202);
    await organisations.closeOrganisation(id, version(3));
    expect(await status()).to.equal(403);
  });

  it('record when they were last used', async () => {
    const { key } = await context.organisation();
    await context.request('GET', '/v1/billing/credits', { key });
    // Uses are collected for a second and written together.
    await context.stores.keys.flush();
    const { body } = await context.request('GET', '/v1/api-keys', { key });
    expect(body.data[0].last_used_at).to.be.a('string');
  });

  it("keep the caller's request ID if it is a safe token of at most 128 characters, else generate one", async () => {
    const { key } = await context.organisation();
    const idOf = async (given: string | null) =>
      (await context.request('GET', '/v1/billing/credits', { key, headers: given === null ? {} : { 'X-Request-Id': given } })).headers.get(
        'x-request-id',
      );
    for (const safe of ['a', 'build-42', '01HX:trace/1.2_~+=@', 'x'.repeat(128)]) expect(await idOf(safe)).to.equal(safe);
    for (const unsafe of [null, '', 'x'.repeat(129), 'a b', '<script>', 'a"b', '-rf', 'a;b'])
      expect(await idOf(unsafe)).to.match(/^[0-9a-f-]{36}$/);
  });
});

describe('rate limits', () => {
  const context = useContext();

  const limitsOf = ({ headers }: Response) => [headers.get('ratelimit-policy'), headers.get('ratelimit')];
  /** Sends a request `count` times concurrently and counts the responses by status. */
  async function burst(count: number, send: () => Promise<Response>): Promise<Record<number, number>> {
    const answers = await Promise.all(Array.from({ length: count }, send));
    const tally: Record<number, number> = {};
    for (const { status } of answers) tally[status] = (tally[status] ?? 0) + 1;
    return tally;
  }

  it('are in the headers of every response, with the policies of the key and of the organisation', async () => {
    const { key } = await context.organisation({ credits: 5 });
    expect(limitsOf(await context.request('GET', '/v1/billing/credits', { key }))).to.deep.equal(['"key";q=60;w=60', '"key";r=59;t=60']);
    expect(limitsOf(await context.request('POST', '/v1/ci/scans', { key, body: SUBMISSION }))).to.deep.equal([
      '"key";q=60;w=60, "submissions";q=60;w=60',
      '"key";r=58;t=60, "submissions";r=59;t=60',
    ]);
    expect(limitsOf(await context.request('GET', `/v1/scans/${randomUUID()}/report`, { key }))).to.deep.equal([
      '"key";q=60;w=60, "reports";q=300;w=60',
      '"key";r=57;t=60, "reports";r=299;t=60',
    ]);
    expect(limitsOf(await context.request('POST', '/v1/api-keys', { key, body: {} }))).to.deep.equal([
      '"key";q=60;w=60, "key-creations";q=20;w=60',
      '"key";r=56;t=60, "key-creations";r=19;t=60',
    ]);
  });

  it('allow exactly 60 requests per key across two replicas', async () => {
    const { key } = await context.organisation();
    const other = await context.replica();
    let turn = 0;
    const tally = await burst(75, () => (turn++ % 2 === 0 ? context : other).request('GET', '/v1/billing/credits', { key }));
    expect(tally).to.deep.equal({ 200: 60, 429: 15 });
    const denied = await context.request('GET', '/v1/billing/credits', { key });
    expect(denied.body).to.include({ detail: 'rate_limit_exceeded' });
    const seconds = Number(denied.headers.get('retry-after'));
    expect(seconds).to.be.within(1, 61);
    expect(denied.headers.get('ratelimit')).to.equal(`"key";r=0;t=${seconds}`);
  });

  it('allow exactly 60 submissions per organisation across its keys, and do not count denied requests against the key', async () => {
    const { id, key } = await context.organisation();
    const second = await issueKey(context.stores.keys, id);
    let turn = 0;
    // Invalid bodies also count, and cost no credits.
    const tally = await burst(70, () => context.request('POST', '/v1/ci/scans', { key: turn++ % 2 === 0 ? key : second.secret, body: {} }));
    expect(tally).to.deep.equal({ 422: 60, 429: 10 });
    const rest = await Promise.all([key, second.secret].map((one) => context.request('GET', '/v1/billing/credits', { key: one })));
    const left = rest.map(({ headers }) => Number(/r=(\d+)/.exec(headers.get('ratelimit')!)![1]));
    expect(left[0]! + left[1]!, 'the ten denied requests were not counted').to.equal(120 - 60 - 2);
  });

  it('allow exactly 20 new keys per organisation', async () => {
    const { key } = await context.organisation();
    const tally = await burst(25, () => context.request('POST', '/v1/api-keys', { key, body: { name: 'x' } }));
    expect(tally).to.deep.equal({ 201: 20, 429: 5 });
  });

  it('allow exactly 300 report links per organisation', async () => {
    const { id, key } = await context.organisation();
    const row = await context.scan(id);
    // All but five directly at the store, because the key's own limit is lower.
    const rule = { policy: 'reports', subject: id, limit: 300, windowSeconds: 60 };
    for (let count = 0; count < 295; count += 1) expect((await context.stores.rateLimits.admit([rule])).ok).to.equal(true);
    let turn = 0;
    const tally = await burst(10, () => context.request('GET', `/v1/scans/${row.id}/report${turn++ % 2 ? '/json' : ''}`, { key }));
    expect(tally).to.deep.equal({ 409: 5, 429: 5 });
  });
});
