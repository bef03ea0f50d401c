/** Authentication, request IDs and rate limits. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { makeKey } from '../../stores/accounts/key-format.ts';
import { issueKey } from '../support/issue-key.ts';
import { unnamed, type Response } from './replica.ts';
import { useContext, SUBMISSION } from './context.ts';

describe('API keys', () => {
  const context = useContext();

  it('are required before a body is read, and the response does not reveal why one is invalid', async () => {
    const unknown = makeKey((count) => new Uint8Array(count).fill(7));
    const keys = [null, '', 'svc_live_short', `${unknown.slice(0, -1)}!`, unknown];
    const answers = await Promise.all(keys.map((key) => context.request('POST', '/v1/ci/scans', { key, raw: '{' })));
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

  it('of a blocked organisation get 403, and work again after unblocking', async () => {
    const { id, key } = await context.organisation();
    const balance = () => context.request('GET', '/v1/billing/credits', { key });
    await context.stores.organisations.setBlocked(id, true);
    const { status, body } = await balance();
    expect([status, body.detail]).to.deep.equal([403, 'account_blocked']);
    await context.stores.organisations.setBlocked(id, false);
    expect((await balance()).status).to.equal(200);
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
});
