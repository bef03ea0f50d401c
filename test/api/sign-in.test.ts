/** Sign-in with a password, sessions and sign-out. */
import { expect } from 'chai';
import { createClient, tokenIn } from './client.ts';
import { useContext } from './context.ts';
import { addPerson, PASSWORD, signedIn } from './people.ts';

const SESSION = '__Host-curbcut_session';

describe('sign-in', () => {
  const context = useContext();

  it('starts a session, and returns to the page that was asked for', async () => {
    const { id } = await context.organisation();
    const { email, client } = await addPerson(context, id);
    const asked = await client.get('/dashboard/sign-in?next=%2Fdashboard%2Fcredits%3Fcursor%3Dx');
    const answer = await client.post('/dashboard/sign-in', {
      _csrf: tokenIn(asked.text),
      next: '/dashboard/credits?cursor=x',
      email: email.toUpperCase(),
      password: PASSWORD,
    });
    expect([answer.status, answer.headers.get('location')]).to.deep.equal([303, '/dashboard/credits?cursor=x']);
    const cookie = answer.headers.getSetCookie().find((line) => line.startsWith(SESSION))!;
    expect(cookie).to.match(/^__Host-curbcut_session=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
    expect((await client.get('/dashboard/sign-in?next=/dashboard/credits')).headers.get('location')).to.equal('/dashboard/credits');
  });

  for (const [asked, page] of [
    ['/dashboard/scans/3f2b8c1e-6a4d-4f0e-9b7a-1c2d3e4f5a6b/report/json', '/dashboard/scans/3f2b8c1e-6a4d-4f0e-9b7a-1c2d3e4f5a6b'],
    ['/dashboard/scans/3f2b8c1e-6a4d-4f0e-9b7a-1c2d3e4f5a6b/report/causes.csv', '/dashboard/scans/3f2b8c1e-6a4d-4f0e-9b7a-1c2d3e4f5a6b'],
    ['/dashboard/sites.csv', '/dashboard'],
    ['/dashboard/settings/members/invitations/cancel', '/dashboard/settings/members'],
  ] as const)
    it(`returns to ${page} for ${asked}`, async () => {
      const person = await signedIn(context);
      const { headers } = await person.client.get(`/dashboard/sign-in?${new URLSearchParams({ next: asked })}`);
      expect(headers.get('location')).to.equal(page);
    });

  it('gives the same answer to an unknown address, a wrong password and an account without a password', async () => {
    const { id } = await context.organisation();
    const { email } = await addPerson(context, id);
    const other = `sso-${email}`;
    await context.stores.users.add({ email: other, organisation: id, password: null });
    const answers = [];
    for (const [address, password] of [
      [email, 'a wrong password'],
      [`nobody-${email}`, PASSWORD],
      [other, PASSWORD],
    ] as const) {
      const { status, text } = await createClient(context.url).submit('/dashboard/sign-in', { email: address, password });
      answers.push([
        status,
        text
          .replaceAll(address, 'ADDRESS')
          .replace(/value="[\w-]{20,}"/g, 'value="TOKEN"')
          .replace(/[0-9a-f-]{36}/g, 'ID'),
      ]);
    }
    expect(answers[0]![0]).to.equal(422);
    expect(answers[0]![1]).to.include('The e-mail address or the password is not correct.').and.include('value="ADDRESS"');
    expect(answers[1]).to.deep.equal(answers[0]);
    expect(answers[2]).to.deep.equal(answers[0]);
  });

  it('gives a new session ID, and ends the session that the browser had', async () => {
    const first = await signedIn(context);
    const before = first.client.cookies.get(SESSION)!;
    const second = await addPerson(context, first.organisation);
    const token = tokenIn((await createClient(context.url).get('/dashboard/sign-in')).text);
    expect(token).to.not.equal('');
    const page = await first.client.request('GET', '/dashboard/sign-in', { headers: { Cookie: '' } });
    expect(page.status).to.equal(200);
    first.client.cookies.set('__Host-curbcut_form', page.headers.getSetCookie()[0]!.split(/[=;]/)[1]!);
    first.client.cookies.delete(SESSION);
    await first.client.post('/dashboard/sign-in', { _csrf: tokenIn(page.text), email: second.email, password: PASSWORD });
    expect(first.client.cookies.get(SESSION)).to.be.a('string').and.not.equal(before);
  });

  it('does not accept a session ID of the browser', async () => {
    const { id } = await context.organisation();
    const { email, client } = await addPerson(context, id);
    const chosen = 'A'.repeat(43);
    client.cookies.set(SESSION, chosen);
    await client.signIn(email, PASSWORD);
    expect(client.cookies.get(SESSION)).to.not.equal(chosen);
  });

  it('needs the CSRF token of the same browser, and keeps the address', async () => {
    const { id } = await context.organisation();
    const { email, client } = await addPerson(context, id);
    const foreign = tokenIn((await createClient(context.url).get('/dashboard/sign-in')).text);
    await client.get('/dashboard/sign-in');
    for (const _csrf of ['', 'x', foreign]) {
      const { status, text } = await client.post('/dashboard/sign-in', { _csrf, email, password: PASSWORD });
      expect(status).to.equal(403);
      expect(text).to.include(`value="${email}"`).and.not.include(PASSWORD);
    }
    expect(client.cookies.has(SESSION)).to.equal(false);
  });

  it('limits the attempts per address and account, and says how long to wait', async () => {
    const { id } = await context.organisation();
    const { email, client } = await addPerson(context, id);
    const { text } = await client.get('/dashboard/sign-in');
    const attempt = (address: string) => client.post('/dashboard/sign-in', { _csrf: tokenIn(text), email: address, password: 'wrong' });
    for (let count = 0; count < 10; count += 1) expect((await attempt(email)).status).to.equal(422);
    const limited = await attempt(email);
    expect(limited.status).to.equal(429);
    expect(Number(limited.headers.get('retry-after'))).to.be.within(1, 900);
    expect(limited.text).to.match(/Try again in \d+ minutes\./);
    // Other accounts are not limited by it.
    expect((await attempt(`other-${email}`)).status).to.equal(422);
  });
});

describe('a session', () => {
  const context = useContext();

  it('is required by pages, which lead to the sign-in page and back', async () => {
    const client = createClient(context.url);
    const answer = await client.get('/dashboard/account?x=1');
    expect([answer.status, answer.headers.get('location')]).to.deep.equal([303, '/dashboard/sign-in?next=%2Fdashboard%2Faccount%3Fx%3D1']);
    const script = await client.get('/dashboard/account', { Accept: 'application/json', 'Sec-Fetch-Mode': 'cors' });
    expect([script.status, JSON.parse(script.text).detail]).to.deep.equal([401, 'session_required']);
  });

  it('ends at sign-out', async () => {
    const { client } = await signedIn(context);
    const secret = client.cookies.get(SESSION)!;
    const answer = await client.submit('/dashboard/sign-out', {}, '/dashboard/account');
    expect(answer.headers.get('location')).to.equal('/dashboard/sign-in?signedOut');
    expect(client.cookies.has(SESSION)).to.equal(false);
    client.cookies.set(SESSION, secret);
    expect((await client.get('/dashboard/account')).status).to.equal(303);
  });

  it('that has ended leads a form to the sign-in page, which says that the form was not saved', async () => {
    const { client, email } = await signedIn(context);
    const { text } = await client.get('/dashboard/account');
    await context.stores.users.endSessions(email);
    const answer = await client.post(
      '/dashboard/account/name',
      { _csrf: tokenIn(text), name: 'Ann' },
      { Referer: `${context.url}/dashboard/account?x=1` },
    );
    const address = '/dashboard/sign-in?next=%2Fdashboard%2Faccount%3Fx%3D1&unsaved';
    expect([answer.status, answer.headers.get('location')]).to.deep.equal([303, address]);
    expect((await client.get(address)).text).to.include('the form was not saved and nothing was changed');
    expect((await client.get('/dashboard/sign-in')).text).to.not.include('not saved');
    expect((await context.stores.users.find(email))?.name).to.equal(null);
  });
});

describe('a form of an earlier session', () => {
  const SAME = { 'Sec-Fetch-Site': 'same-origin', 'Sec-Fetch-Mode': 'navigate' };
  const context = useContext();

  it('changes nothing, keeps what was typed, and can be sent again', async () => {
    const { client, email } = await signedIn(context);
    const typed = '"><b>Ann</b> & co';
    const answer = await client.post('/dashboard/account/name', { _csrf: 'old', name: typed }, SAME);
    expect(answer.status).to.equal(403);
    expect(answer.text).to.include('The form was not saved').and.include('What you entered is kept').and.not.include('<b>Ann');
    expect((await context.stores.users.find(email))?.name).to.equal(null);
    const form = answer.text.slice(answer.text.indexOf('action="/dashboard/account/name"'));
    const value = /name="name" value="([^"]*)"/.exec(form)![1]!;
    expect(value).to.equal('&quot;&gt;&lt;b&gt;Ann&lt;/b&gt; &amp; co');
    const again = await client.post('/dashboard/account/name', { _csrf: tokenIn(form), name: typed }, SAME);
    expect(again.status).to.equal(303);
    expect((await context.stores.users.find(email))?.name).to.equal(typed);
  });

  it('cannot be sent again if it came from elsewhere, or if it contains a password', async () => {
    const { client } = await signedIn(context);
    for (const [path, fields, headers] of [
      ['/dashboard/account/name', { name: 'Eve' }, { ...SAME, 'Sec-Fetch-Site': 'same-site' }],
      ['/dashboard/account/name', { name: 'Eve' }, {}],
      ['/dashboard/account/password', { password: PASSWORD, 'new-password': 'nine tin kettles hum' }, SAME],
    ] as const) {
      const { status, text } = await client.post(path, { _csrf: 'old', ...fields }, headers);
      expect(status, path).to.equal(403);
      expect(text).to.include('Open the form again').and.not.include('Send again').and.not.include('Eve').and.not.include(PASSWORD);
    }
  });

  it('is a JSON error for a script', async () => {
    const { client } = await signedIn(context);
    const headers = { Accept: 'application/json', 'Sec-Fetch-Mode': 'cors', 'Sec-Fetch-Site': 'same-origin' };
    const { status, text } = await client.post('/dashboard/account/name', { _csrf: 'old', name: 'Ann' }, headers);
    expect([status, JSON.parse(text).detail]).to.deep.equal([403, 'invalid_csrf_token']);
  });
});
