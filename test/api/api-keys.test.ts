/** API keys over REST: issued, listed, limited and revoked. */
import { expect } from 'chai';
import { issueKey } from '../support/issue-key.ts';
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

  for (const [what, body, field, type] of [
    ['a blank name', { name: '  ' }, 'name', 'string.pattern'],
    ['a leap second, which a date cannot represent', { name: 'x', expires_at: '2030-12-31T23:59:60Z' }, 'expires_at', 'string.date_time'],
    ['an expiry in the past', { name: 'x', expires_at: '2020-01-01T00:00:00Z' }, 'expires_at', 'date.past'],
    ['a scope twice', { name: 'x', scopes: ['scans:read', 'scans:read'] }, 'scopes', 'array.unique_items'],
  ] as const)
    it(`rejects ${what}`, async () => {
      const { key } = await context.organisation();
      const answer = await context.request('POST', '/v1/api-keys', { key, body });
      expect(answer.status).to.equal(422);
      expect(answer.body.detail[0]).to.deep.include({ loc: ['body', field], type });
      const { body: list } = await context.request('GET', '/v1/api-keys', { key });
      expect(list.data, 'nothing was written').to.have.lengthOf(1);
    });

  it('lets no key out that has more than its creator still has when it is stored', async () => {
    const { id } = await context.organisation();
    const { members, keys } = context.stores;
    for (const role of ['owner', 'viewer'] as const) await members.add(id, `${role}@people.example`, 'owner');
    const creator = { createdBy: 'viewer@people.example', rootCreator: 'viewer@people.example' };
    const { secret } = await issueKey(keys, id, { name: 'parent', creator });
    context.faults.set('keys.issue', async (real, ...parameters) => {
      await members.setRole(id, creator.createdBy, 'viewer');
      await members.remove(id, creator.createdBy);
      return real(...parameters);
    });
    const { status, body } = await context.request('POST', '/v1/api-keys', { key: secret, body: { name: 'child' } });
    expect([status, body.detail]).to.deep.equal([403, 'permission_denied']);
    expect((await keys.list(id, { status: 'live', limit: 10 })).map(({ name }) => name)).to.have.members(['parent', 'test']);
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

  it('revokes a key with a JSON content type and no body, as many clients send', async () => {
    const { key, keyId } = await context.organisation();
    const { status } = await context.request('DELETE', `/v1/api-keys/${keyId}`, { key, headers: { 'Content-Type': 'application/json' } });
    expect(status).to.equal(204);
  });
});
