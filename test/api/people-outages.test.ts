/** Pages of the dashboard while something that they need is down or busy. */
import { expect } from 'chai';
import { TooBusy } from '../../platform/concurrency/semaphore.ts';
import { createClient } from './client.ts';
import { useContext } from './context.ts';
import { addPerson, PASSWORD, signedIn } from './people.ts';
import { down } from './replica.ts';

const UNAVAILABLE = 'The service is temporarily unavailable';

describe('the dashboard during an outage', () => {
  const context = useContext({ mail: true });

  it('says that it is too busy if too many passwords are being checked, and the repeated sign-in succeeds', async () => {
    const { id } = await context.organisation();
    const { email, client } = await addPerson(context, id);
    context.faults.set('users.verify', () => Promise.reject(new TooBusy('total')));
    const page = await client.submit('/dashboard/sign-in', { email, password: PASSWORD });
    expect([page.status, page.headers.get('retry-after')]).to.deep.equal([503, '5']);
    expect(page.text).to.include('The service is busy').and.not.include(PASSWORD);
    // ASVS 16.5 (error handling): nothing is down, so the page does not say so.
    expect(page.text).to.not.include(UNAVAILABLE).and.not.include('is down');
    const { headers, text } = await client.get('/dashboard/sign-in');
    expect(headers.get('retry-after')).to.equal(null);
    const script = await client.post(
      '/dashboard/sign-in',
      { _csrf: /name="_csrf" value="([^"]+)"/.exec(text)![1]!, email, password: PASSWORD },
      { Accept: 'application/json' },
    );
    expect([script.status, script.headers.get('retry-after')]).to.deep.equal([503, '5']);
    expect(JSON.parse(script.text).detail).to.equal('replica_busy');
    context.faults.clear();
    await client.signIn(email, PASSWORD);
  });

  it('does not say that nothing happened if the database fails while it changes something', async () => {
    const { client } = await signedIn(context);
    context.faults.set('users.rename', down);
    const { status, text } = await client.submit('/dashboard/account/name', { name: 'Ada' }, '/dashboard/account');
    expect(status).to.equal(503);
    expect(text)
      .to.include('This may or may not have been done')
      .and.not.match(/[Nn]othing was/);
  });

  it('answers each page with 503, what to do, and Retry-After if the database is down', async () => {
    const { client } = await signedIn(context);
    const stranger = createClient(context.url);
    const pages: [call: string, path: string, browser: typeof client][] = [
      ['sessions.recognise', '/dashboard', client],
      ['members.list', '/dashboard/settings/members', client],
      ['invitations.find', `/dashboard/invitation/${'A'.repeat(43)}`, stranger],
      ['passwordResets.find', `/dashboard/reset-password/${'A'.repeat(43)}`, stranger],
    ];
    for (const [call, path, browser] of pages) {
      context.faults.clear();
      context.faults.set(call, down);
      const { status, headers, text } = await browser.get(path);
      expect([call, path, status, headers.get('retry-after')]).to.deep.equal([call, path, 503, '5']);
      expect(headers.get('content-type'), path).to.include('text/html');
      expect(text, path).to.include(UNAVAILABLE).and.not.include('secret-host');
    }
  });

  it('withdraws an invitation whose mail cannot be queued, and shows no link', async () => {
    const { client, organisation } = await signedIn(context);
    const members = '/dashboard/settings/members';
    context.faults.set('outbox.enqueue', down);
    const { status, text } = await client.submit(`${members}/invitations`, { email: 'ann@people.example', role: 'viewer' }, members);
    expect(status).to.equal(503);
    expect(text).to.include('The mail could not be queued, so the invitation was withdrawn.').and.include('value="ann@people.example"');
    expect(text).to.not.match(/\/dashboard\/invitation\/[\w-]{43}/);
    expect(await context.stores.invitations.list(organisation)).to.deep.equal([]);
    expect(await context.stores.organisations.auditPage(organisation, { kind: 'changes', limit: 1 })).to.deep.equal([]);
    expect(context.log.find(({ message }) => message === 'invitation not mailed')?.fields).to.include({ organisation });
  });
});
