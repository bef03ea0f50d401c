/** The API without its dashboard (DASHBOARD=false). */
import { expect } from 'chai';
import { createClient } from './client.ts';
import { useContext } from './context.ts';
import { addPerson, PASSWORD } from './people.ts';

describe('the API without its dashboard', () => {
  const context = useContext({ dashboard: false });

  it('has no pages', async () => {
    const client = createClient(context.url);
    expect((await client.get('/dashboard/sign-in')).status).to.equal(404);
    expect((await client.post('/dashboard/sign-in', { email: 'a@example.com', password: 'a' })).status).to.equal(404);
  });

  it('accepts no session, not even one of a replica with a dashboard', async () => {
    const other = await context.replica({ dashboard: true });
    const { id } = await context.organisation();
    const { email } = await addPerson(context, id);
    const person = createClient(other.url);
    await person.signIn(email, PASSWORD);
    const client = createClient(context.url);
    for (const [name, value] of person.cookies) client.cookies.set(name, value);
    expect((await client.get('/dashboard/account')).status).to.equal(404);
    expect((await client.get('/v1/api-keys', { Accept: 'application/json' })).status).to.equal(401);
  });
});
