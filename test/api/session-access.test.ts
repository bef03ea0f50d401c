/** REST routes that accept the session of a user instead of an API key. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { useContext } from './context.ts';
import { tokenIn } from './client.ts';
import { signedIn, type Person } from './people.ts';

describe('REST with a session', () => {
  const context = useContext();

  /** Sends a request with the person's cookies, and checks the response against the OpenAPI document. */
  const send = (
    person: Person,
    method: string,
    path: string,
    { token, body, key }: { token?: string; body?: unknown; key?: string } = {},
  ) =>
    context.request(method, path, {
      key: key ?? null,
      body,
      headers: {
        Cookie: [...person.client.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(token !== undefined && { 'X-CSRF-Token': token }),
      },
    });
  const tokenOf = async ({ client }: Person) => tokenIn((await client.get('/dashboard/account')).text);

  it('gives the reports of the organisation, and counts per user', async () => {
    const person = await signedIn(context, { role: 'viewer' });
    const reports = await context.storeReports(randomUUID());
    const scan = await context.scan(person.organisation, { phase: 'done', reports });
    for (const path of [`/v1/scans/${scan.id}/report`, `/v1/scans/${scan.id}/report/json`]) {
      const { status, headers } = await send(person, 'GET', path);
      expect(status).to.equal(200);
      expect(headers.get('ratelimit-policy')).to.include('"key";q=60').and.include('"reports";q=300');
    }
    const theirs = await context.scan((await context.organisation()).id, { phase: 'done', reports });
    expect((await send(person, 'GET', `/v1/scans/${theirs.id}/report`)).status).to.equal(404);
  });

  it('issues, lists and revokes keys, with the CSRF token in a header', async () => {
    const person = await signedIn(context, { role: 'member' });
    const token = await tokenOf(person);
    for (const wrong of [undefined, '', 'x', await tokenOf(await signedIn(context))]) {
      const { status, body } = await send(person, 'POST', '/v1/api-keys', { body: { name: 'CI' }, token: wrong });
      expect([status, body.detail]).to.deep.equal([403, 'invalid_csrf_token']);
    }
    const issued = await send(person, 'POST', '/v1/api-keys', { body: { name: 'CI' }, token });
    expect(issued.status).to.equal(201);
    expect((await send(person, 'GET', '/v1/api-keys')).body.data.map(({ id }: { id: string }) => id)).to.include(issued.body.id);
    expect((await send(person, 'DELETE', `/v1/api-keys/${issued.body.id}`)).status).to.equal(403);
    expect((await send(person, 'DELETE', `/v1/api-keys/${issued.body.id}`, { token })).status).to.equal(204);
    const entries = await context.stores.organisations.audit(person.organisation, 10);
    const entry = entries.find(({ action }) => action === 'key.revoke');
    expect(entry).to.include({ actor: person.email, action: 'key.revoke' });
  });

  it('requires the permission of the route', async () => {
    const person = await signedIn(context, { role: 'viewer' });
    const { status, body } = await send(person, 'POST', '/v1/api-keys', { body: { name: 'CI' }, token: await tokenOf(person) });
    expect([status, body.detail]).to.deep.equal([403, 'permission_denied']);
  });

  it('is refused if the key is wrong, on other routes, after sign-out, and if the organisation is blocked', async () => {
    const person = await signedIn(context);
    expect((await send(person, 'GET', '/v1/api-keys', { key: 'svc_live_wrong' })).status).to.equal(401);
    expect((await send(person, 'GET', '/v1/billing/credits')).status).to.equal(401);
    expect((await send(person, 'GET', '/v1/ci/scans')).status).to.equal(401);
    await context.stores.organisations.setBlocked(person.organisation, true);
    expect((await send(person, 'GET', '/v1/api-keys')).body.detail).to.equal('account_blocked');
    await context.stores.organisations.setBlocked(person.organisation, false);
    expect((await send(person, 'GET', '/v1/api-keys')).status).to.equal(200);
    await context.stores.users.endSessions(person.email);
    expect((await send(person, 'GET', '/v1/api-keys')).status).to.equal(401);
  });
});
