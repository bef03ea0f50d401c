/** Sessions and keys that end while a request is in progress. ASVS 7.4: their end takes effect at once. */
import { expect } from 'chai';
import { startContext, type ApiContext } from './context.ts';
import { tokenIn, type Client } from './client.ts';
import { PASSWORD, signedIn } from './people.ts';

const ORGANISATIONS = '/dashboard/organisations';
const OTHER_PASSWORD = 'nine tin kettles hum';

describe('a session that ends during a request', () => {
  let context: ApiContext;
  before(async () => {
    context = await startContext();
  });
  after(() => context?.close());

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

  it('starts no other one by accepting an invitation', async () => {
    const owner = await signedIn(context);
    const { client, email } = await signedIn(context);
    const { invitations } = context.stores;
    const created = await invitations.create({ ...owner, email, role: 'viewer', createdBy: owner.email, mailed: false });
    const link = `/dashboard/invitation/${created.ok ? created.token : ''}`;
    const page = await client.get(link);
    endSessionsBeforeStart(email);
    expect((await client.post(link, { _csrf: tokenIn(page.text) })).status).to.equal(303);
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
