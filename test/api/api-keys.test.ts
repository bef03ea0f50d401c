/** API keys over REST: issued, listed, limited and revoked. */
import { expect } from 'chai';
import { issueKey } from '../support/issue-key.ts';
import { KEY_SCOPES } from '../../core/accounts.ts';
import { useContext, HIGH_LIMITS } from './context.ts';

describe('/v1/api-keys', () => {
  const context = useContext({ limits: HIGH_LIMITS });

  it('issues a working key, shows it once, and revokes it immediately on every replica', async () => {
    const { id, key } = await context.organisation();
    const other = await context.replica();
    const issued = await context.request('POST', '/v1/api-keys', { key, body: { name: ' Pipeline ' } });
    expect(issued.status).to.equal(201);
    expect(issued.headers.get('cache-control')).to.equal('no-store');
    expect(issued.body).to.deep.include({ name: 'Pipeline', expires_at: null, last4: issued.body.key.slice(-4) });
    expect((await other.request('GET', '/v1/billing/credits', { key: issued.body.key })).status).to.equal(200);

    const list = await context.request('GET', '/v1/api-keys', { key });
    expect(list.body.data.map((one: { name: string }) => one.name)).to.deep.equal(['Pipeline', 'test']);
    expect(list.text).to.not.include(issued.body.key).and.not.include(key);

    const revoked = await context.request('DELETE', `/v1/api-keys/${issued.body.id}`, { key });
    expect([revoked.status, revoked.text]).to.deep.equal([204, '']);
    expect((await other.request('GET', '/v1/billing/credits', { key: issued.body.key })).status).to.equal(401);
    expect((await context.request('GET', '/v1/api-keys?status=live', { key })).body.data).to.have.lengthOf(1);
    const again = await context.request('DELETE', `/v1/api-keys/${issued.body.id}`, { key });
    expect([again.status, again.body.detail]).to.deep.equal([404, 'key_not_found']);
    const audit = await context.stores.organisations.audit(id, 10);
    // The entry about the network is written outside the requests.
    const entries = audit.map(({ action }) => action).filter((action) => action !== 'key.new-network');
    expect(entries).to.have.members(['key.issue', 'key.revoke']);
  });

  it('issues a key with an expiry date', async () => {
    const { key } = await context.organisation();
    const soon = new Date(Date.now() + 3600_000).toISOString();
    const { body } = await context.request('POST', '/v1/api-keys', { key, body: { name: 'x', expires_at: soon } });
    expect(body.expires_at).to.equal(soon);
    const never = await context.request('POST', '/v1/api-keys', { key, body: { name: 'x', expires_at: null } });
    expect(never.body.expires_at).to.equal(null);
  });

  for (const [what, body, field, type] of [
    ['no name', {}, 'name', 'missing_field'],
    ['an empty name', { name: '' }, 'name', 'string.min_length'],
    ['a blank name', { name: '  ' }, 'name', 'string.pattern'],
    ['a name that is too long', { name: 'x'.repeat(101) }, 'name', 'string.max_length'],
    ['an expiry that is not a date', { name: 'x', expires_at: 'tomorrow' }, 'expires_at', 'string.date_time'],
    ['a leap second, which a date cannot represent', { name: 'x', expires_at: '2030-12-31T23:59:60Z' }, 'expires_at', 'string.date_time'],
    ['an offset without minutes', { name: 'x', expires_at: '2030-01-01T00:00:00+05' }, 'expires_at', 'string.date_time'],
    ['a day that does not exist', { name: 'x', expires_at: '2030-02-30T00:00:00Z' }, 'expires_at', 'string.date_time'],
    ['an expiry in the past', { name: 'x', expires_at: '2020-01-01T00:00:00Z' }, 'expires_at', 'date.past'],
    ['an unknown field', { name: 'x', role: 'owner' }, 'role', 'unexpected_field'],
    ['no scope', { name: 'x', scopes: [] }, 'scopes', 'array.min_items'],
    ['a scope twice', { name: 'x', scopes: ['scans:read', 'scans:read'] }, 'scopes', 'array.unique_items'],
    ['scopes as text', { name: 'x', scopes: 'scans:read' }, 'scopes', 'type.array'],
  ] as const)
    it(`rejects ${what}`, async () => {
      const { key } = await context.organisation();
      const answer = await context.request('POST', '/v1/api-keys', { key, body });
      expect(answer.status).to.equal(422);
      expect(answer.body.detail[0]).to.deep.include({ loc: ['body', field], type });
      const { body: list } = await context.request('GET', '/v1/api-keys', { key });
      expect(list.data, 'nothing was written').to.have.lengthOf(1);
    });

  it('rejects an unknown scope, and those that only people can have', async () => {
    const { key } = await context.organisation();
    for (const scope of ['members:write', 'audit:read', 'scans:*']) {
      const { status, body } = await context.request('POST', '/v1/api-keys', { key, body: { name: 'x', scopes: ['scans:read', scope] } });
      expect([status, body.detail[0].loc, body.detail[0].type]).to.deep.equal([422, ['body', 'scopes', 1], 'enum']);
    }
  });

  it('issues and lists keys with all scopes or with some, in one order', async () => {
    const { key } = await context.organisation();
    const issue = async (scopes?: string[]) => (await context.request('POST', '/v1/api-keys', { key, body: { name: 'x', scopes } })).body;
    expect((await issue()).scopes).to.deep.equal(KEY_SCOPES);
    expect((await issue(['keys:write', 'scans:read'])).scopes).to.deep.equal(['scans:read', 'keys:write']);
    const { data } = (await context.request('GET', '/v1/api-keys', { key })).body;
    expect(data.map(({ scopes }: { scopes: string[] }) => scopes.length)).to.have.members([2, KEY_SCOPES.length, KEY_SCOPES.length]);
  });

  it('does not let a key create one with a scope that it lacks', async () => {
    const { id } = await context.organisation();
    const { secret } = await issueKey(context.stores.keys, id, { scopes: ['keys:write', 'scans:read'] });
    const create = (scopes?: string[]) => context.request('POST', '/v1/api-keys', { key: secret, body: { name: 'x', scopes } });
    expect((await create(['scans:read'])).status).to.equal(201);
    expect((await create()).body.scopes, 'what it has').to.deep.equal(['scans:read', 'keys:write']);
    const { status, body } = await create(['scans:read', 'credits:read']);
    expect([status, body.detail, body.permission]).to.deep.equal([403, 'permission_denied', 'credits:read']);
    expect(body.message).to.include('credits:read');
    expect(await context.stores.keys.list(id, { limit: 10 })).to.have.lengthOf(4);
  });

  it('does not let a key create one that expires later', async () => {
    const { id } = await context.organisation();
    const end = new Date(Date.now() + 60_000);
    const { secret } = await issueKey(context.stores.keys, id, { expiresAt: end });
    const create = (expires_at?: string | null) =>
      context.request('POST', '/v1/api-keys', { key: secret, body: { name: 'x', expires_at } });
    for (const expires of [undefined, null, end.toISOString()]) expect((await create(expires)).body.expires_at).to.equal(end.toISOString());
    const { status, body } = await create(new Date(end.getTime() + 1).toISOString());
    expect(status).to.equal(422);
    expect(body.detail).to.have.lengthOf(1);
    expect(body.detail[0]).to.deep.include({ loc: ['body', 'expires_at'], type: 'date.after_creator' });
    expect(body.detail[0].msg).to.include(end.toISOString());
  });

  it('names who created each key, and the first of a chain of keys', async () => {
    const { id } = await context.organisation();
    const ann = { createdBy: 'ann@example.com', rootCreator: 'ann@example.com' };
    const own = await issueKey(context.stores.keys, id, { creator: ann });
    const child = await context.request('POST', '/v1/api-keys', { key: own.secret, body: { name: 'x' } });
    expect(child.body.created_by).to.equal(`key:${own.key.id}`);
    const { data } = (await context.request('GET', '/v1/api-keys', { key: own.secret })).body;
    expect(data.map((one: { created_by: string }) => one.created_by)).to.have.members([
      `key:${own.key.id}`,
      'ann@example.com',
      'curbcut-admin',
    ]);
    expect(await context.stores.keys.createdBy(id, 'ann@example.com')).to.have.lengthOf(2);
  });

  // ASVS 7.4.2: access ends when an account is disabled or deleted.
  it('leaves no key to a person whose keys are revoked while one of them creates another', async () => {
    const { id } = await context.organisation();
    const own = await issueKey(context.stores.keys, id, { creator: { createdBy: 'ann@example.com', rootCreator: 'ann@example.com' } });
    context.faults.set('keys.issue', async (real, ...parameters) => {
      await context.stores.keys.revokeCreatedBy(id, 'ann@example.com');
      return real(...parameters);
    });
    const answer = await context.request('POST', '/v1/api-keys', { key: own.secret, body: { name: 'x' } });
    expect([answer.status, answer.body.detail]).to.deep.equal([401, 'invalid_api_key']);
    expect(answer.text).to.not.include('svc_live_');
    expect(await context.stores.keys.createdBy(id, 'ann@example.com')).to.deep.equal([]);
  });

  it('lists keys of every status in pages, newest first', async () => {
    const { id, key, keyId } = await context.organisation();
    const expired = await issueKey(context.stores.keys, id, { name: 'old', expiresAt: new Date(Date.now() - 1000) });
    const revoked = await issueKey(context.stores.keys, id, { name: 'lost' });
    await context.stores.keys.revoke(id, revoked.key.id);
    const list = async (query: string) => (await context.request('GET', `/v1/api-keys?${query}`, { key })).body;
    const all = await list('');
    expect(all.next_cursor).to.equal(null);
    expect(all.data.map((one: { id: string; status: string }) => [one.id, one.status])).to.have.deep.members([
      [keyId, 'live'],
      [expired.key.id, 'expired'],
      [revoked.key.id, 'revoked'],
    ]);
    for (const status of ['live', 'expired', 'revoked']) {
      const { data } = await list(`status=${status}`);
      expect(data).to.have.lengthOf(1);
      expect(data[0].status).to.equal(status);
    }
    const first = await list('limit=2');
    const second = await list(`limit=2&cursor=${first.next_cursor}`);
    // The use of the key for these requests is recorded in the background.
    const idle = (keys: object[]): object[] => keys.map((one) => ({ ...one, last_used_at: null }));
    expect(idle([...first.data, ...second.data])).to.deep.equal(idle(all.data));
    expect(second.next_cursor).to.equal(null);
  });

  for (const [query, field, type] of [
    ['limit=0', 'limit', 'number.minimum'],
    ['limit=101', 'limit', 'number.maximum'],
    ['limit=x', 'limit', 'type.integer'],
    ['status=dead', 'status', 'enum'],
    ['cursor=abc', 'cursor', 'cursor.invalid'],
    ['sort=name', 'sort', 'unexpected_field'],
  ] as const)
    it(`rejects the list ?${query}`, async () => {
      const { key } = await context.organisation();
      const answer = await context.request('GET', `/v1/api-keys?${query}`, { key });
      expect([answer.status, answer.body.detail[0]?.loc, answer.body.detail[0]?.type]).to.deep.equal([422, ['query', field], type]);
    });

  it('answers 409 if the organisation has 100 live keys, until one is revoked', async () => {
    const { id, key } = await context.organisation();
    for (let count = 1; count < 100; count += 1) await issueKey(context.stores.keys, id);
    const create = () => context.request('POST', '/v1/api-keys', { key, body: { name: 'x' } });
    const refused = await create();
    expect([refused.status, refused.body.detail]).to.deep.equal([409, 'too_many_keys']);
    expect(refused.body.message).to.include('100');
    const { body } = await context.request('GET', '/v1/api-keys?status=live&limit=1', { key });
    await context.request('DELETE', `/v1/api-keys/${body.data[0].id}`, { key });
    expect((await create()).status).to.equal(201);
  });

  it('shows a new key even if the audit log is unavailable', async () => {
    const { key } = await context.organisation();
    context.faults.set('organisations.record', () => Promise.reject(new Error('unavailable')));
    expect((await context.request('POST', '/v1/api-keys', { key, body: { name: 'x' } })).status).to.equal(201);
    expect(context.log.some(({ message }) => message === 'audit entry lost')).to.equal(true);
  });

  it('revokes a key with a JSON content type and no body, as many clients send', async () => {
    const { key, keyId } = await context.organisation();
    const { status } = await context.request('DELETE', `/v1/api-keys/${keyId}`, { key, headers: { 'Content-Type': 'application/json' } });
    expect(status).to.equal(204);
  });
});
