/** The password that a signed-in user enters again. */
import { expect } from 'chai';
import { createClient, tokenIn } from './client.ts';
import { useContext } from './context.ts';
import { PASSWORD, signedIn } from './people.ts';
import { BEHIND_PROXY } from './public-context.ts';

const DELETE = '/dashboard/account/delete';
const CONFIRM = '/dashboard/account/confirm';

describe('the password of a signed-in user', () => {
  const context = useContext(BEHIND_PROXY);

  // ASVS 6.3.1 (guessing) and 7.5.1 (a change of the account needs the password): the thief of a session may have many networks.
  it('can be tried ten times, from whichever networks, and each refusal is recorded', async () => {
    const { client, email, organisation } = await signedIn(context);
    const { stores } = context;
    const attempt = async (network: number, password: string) => {
      const _csrf = tokenIn((await client.get(DELETE)).text);
      const { status } = await client.post(DELETE, { _csrf, email, password }, { 'X-Forwarded-For': `198.51.${network}.1` });
      return status;
    };
    const statuses = [];
    for (let network = 0; network < 10; network += 1) statuses.push(await attempt(network, 'a guess of a thief'));
    expect(statuses).to.deep.equal(Array.from({ length: 10 }, () => 422));
    expect(await attempt(10, PASSWORD)).to.equal(429);
    // The page before changes of second factors counts the same attempts.
    const confirmed = await client.post(CONFIRM, { _csrf: tokenIn((await client.get(CONFIRM)).text), password: PASSWORD });
    expect(confirmed.status).to.equal(429);
    await stores.signInFailures.flush();
    const [failed] = await stores.organisations.auditPage(organisation, { action: 'user.sign-in-failed', limit: 1 });
    expect(failed).to.include({ actor: email, count: 10 });
    // It does not keep anyone from signing in.
    await createClient(context.url).signIn(email, PASSWORD);
  });
});
