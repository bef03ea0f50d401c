/** Sessions and keys that end while a request is in progress. ASVS 7.4: their end takes effect at once. */
import { once } from 'node:events';
import { request as send, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { useContext, SUBMISSION } from './context.ts';
import { tokenIn, type Client } from './client.ts';
import { addPerson, PASSWORD, signedIn } from './people.ts';

const ORGANISATIONS = '/dashboard/organisations';
const MEMBERS = '/dashboard/settings/members';
const OTHER_PASSWORD = 'nine tin kettles hum';

describe('a session that ends during a request', () => {
  const context = useContext();

  const works = async (client: Client): Promise<boolean> => (await client.get('/dashboard/account')).status === 200;

  /** Ends all sessions of a user just before the next one starts. */
  function endSessionsBeforeStart(email: string): void {
    const { sessions, users } = context.stores;
    const { start } = sessions;
    sessions.start = async (options) => {
      sessions.start = start;
      await users.endSessions(email);
      return start(options);
    };
  }

  it('starts no other one by switching', async () => {
    const { client, email, organisation } = await signedIn(context);
    endSessionsBeforeStart(email);
    expect((await client.submit(`${ORGANISATIONS}/switch`, { organisation }, ORGANISATIONS)).status).to.equal(404);
    expect(await works(client)).to.equal(false);
  });

  it('starts no other one with a password that is changed, and does not replace the new one', async () => {
    const { client, email } = await signedIn(context);
    const { users } = context.stores;
    const { verify } = users;
    users.verify = async (...credentials) => {
      users.verify = verify;
      const verified = await verify(...credentials);
      await users.resetPassword(email, OTHER_PASSWORD);
      return verified;
    };
    const fields = { password: PASSWORD, 'new-password': 'the password of a thief' };
    await client.submit('/dashboard/account/password', fields, '/dashboard/account');
    expect(await users.verify(email, OTHER_PASSWORD)).to.not.equal(null);
    expect(await works(client)).to.equal(false);
  });
});

describe('a request whose body is late', () => {
  const context = useContext();

  /** Sends a request, and its body only after what it was sent with was looked up and `meanwhile` has happened. */
  async function late(path: string, headers: Record<string, string>, body: string, meanwhile: () => Promise<unknown>): Promise<number> {
    context.commands.length = 0;
    const sent = send(context.url + path, {
      method: 'POST',
      headers: { 'Content-Length': String(body.length), Accept: 'text/html', ...headers },
    });
    const answered = once(sent, 'response');
    sent.flushHeaders();
    const lookUp = headers['X-API-Key'] === undefined ? 'aggregate sessions' : 'findAndModify limits';
    while (!context.commands.includes(lookUp)) await sleep(5);
    await meanwhile();
    sent.end(body);
    const [response] = (await answered) as [IncomingMessage];
    response.resume();
    return response.statusCode!;
  }

  async function lateForm(client: Client, page: string, path: string, fields: Record<string, string>, meanwhile: () => Promise<unknown>) {
    const body = new URLSearchParams({ _csrf: tokenIn((await client.get(page)).text), ...fields }).toString();
    const cookie = [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return late(path, { Cookie: cookie, 'Content-Type': 'application/x-www-form-urlencoded' }, body, meanwhile);
  }

  for (const [what, end, expected] of [
    ['was removed', (organisation, email) => context.stores.members.remove(organisation, email), 303],
    ['has become a viewer', (organisation, email) => context.stores.members.setRole(organisation, email, 'viewer'), 403],
  ] as [string, (organisation: string, email: string) => Promise<unknown>, number][])
    it(`does nothing for an owner who ${what} meanwhile`, async () => {
      const { client, email, organisation } = await signedIn(context);
      const friend = await addPerson(context, organisation, 'viewer');
      await addPerson(context, organisation);
      const fields = { email: friend.email, role: 'owner' };
      const status = await lateForm(client, MEMBERS, `${MEMBERS}/role`, fields, () => end(organisation, email));
      expect([status, (await context.stores.members.find(organisation, friend.email))?.role]).to.deep.equal([expected, 'viewer']);
    });

  it('submits no scan with a key that was revoked before the body came, which came while the database was slow', async () => {
    const { id, key, keyId } = await context.organisation({ credits: 5 });
    const { keys, rateLimits, scans } = context.stores;
    const body = JSON.stringify(SUBMISSION);
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
    const sent = send(`${context.url}/v1/ci/scans`, { method: 'POST', headers });
    const answered = once(sent, 'response');
    const { admit } = rateLimits;
    rateLimits.admit = async (rules) => {
      rateLimits.admit = admit;
      await keys.revoke(id, keyId);
      sent.end(body);
      await once(sent, 'finish');
      await sleep(50);
      return admit(rules);
    };
    sent.flushHeaders();
    const [response] = (await answered) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).to.equal(401);
    expect((await scans.search(id, { limit: 1 })).rows).to.deep.equal([]);
  });
});
