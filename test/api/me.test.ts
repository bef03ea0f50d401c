import { expect } from 'chai';
import { issueKey } from '../support/issue-key.ts';
import { useContext } from './context.ts';
import { signedIn } from './people.ts';

describe('GET /v1/me', () => {
  const context = useContext();

  it('returns the organisation, the key and what it may do', async () => {
    const { id } = await context.organisation({ plan: 'team' });
    const expiresAt = new Date(Date.now() + 3_600_000);
    const { key, secret } = await issueKey(context.stores.keys, id, { scopes: ['credits:read'], expiresAt });
    const { status, body } = await context.request('GET', '/v1/me', { key: secret });
    expect(status).to.equal(200);
    expect(body).to.deep.include({
      organisation: { id, name: id, plan: 'team' },
      key: { id: key.id, expires_at: expiresAt.toISOString(), test: false },
      user: null,
      permissions: ['credits:read'],
      max_pages: 500,
    });
    expect(body.rate_limits).to.deep.include({ name: 'submissions', requests: 60, seconds: 60 });
  });

  it('returns the user of a session', async () => {
    const { client, email, organisation } = await signedIn(context, { role: 'viewer' });
    const { status, text } = await client.get('/v1/me', { Accept: 'application/json' });
    expect(status).to.equal(200);
    expect(JSON.parse(text)).to.deep.include({ key: null, user: { email, role: 'viewer' }, permissions: ['scans:read', 'credits:read'] });
    expect(JSON.parse(text).organisation.id).to.equal(organisation);
  });
});
