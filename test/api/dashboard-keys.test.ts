/** Settings → API keys: creating a key once, revoking it, and who may. */
import { expect } from 'chai';
import { KEY_SCOPES } from '../../core/accounts.ts';
import { WEBHOOKS_PATH } from '../../core/web-paths.ts';
import { issueKey } from '../support/issue-key.ts';
import { tokenIn } from './client.ts';
import { useContext } from './context.ts';
import { signedIn, type Person } from './people.ts';

const PATH = '/dashboard/settings/api-keys';
const SECRET = /svc_live_[0-9A-Za-z]{38}/;

describe('the pages of API keys', () => {
  const context = useContext();

  /** The hidden fields of the form that creates a key. */
  async function form({ client }: Person): Promise<{ _csrf: string; form_id: string }> {
    const { text } = await client.get(`${PATH}/new`);
    return { _csrf: tokenIn(text), form_id: /name="form_id" value="([^"]+)"/.exec(text)![1]! };
  }
  const keysOf = ({ organisation }: Person) => context.stores.keys.list(organisation, { limit: 100 });
  const named = async (person: Person, name: string) => (await keysOf(person)).filter((key) => key.name === name);

  it('create a key with a name, an expiry and scopes, show it once, and record who created it', async () => {
    const person = await signedIn(context, { role: 'member' });
    const fields = { ...(await form(person)), name: ' CI ', expires_at: '2126-01-31', scopes: 'scans:read' };
    context.log.length = 0;
    const answer = await person.client.post(`${PATH}/new`, fields);
    expect(answer.status).to.equal(201);
    expect(answer.headers.get('cache-control')).to.equal('no-store');
    const [secret] = SECRET.exec(answer.text)!;
    const [key] = await named(person, 'CI');
    expect(key).to.deep.include({ scopes: ['scans:read'], expiresAt: new Date('2126-01-31T00:00:00Z') });
    expect((await context.request('GET', '/v1/ci/scans', { key: secret })).status).to.equal(200);
    expect((await context.request('GET', '/v1/billing/credits', { key: secret })).status).to.equal(403);
    for (const path of [PATH, `${PATH}/new`, `${PATH}/${key!.id}/revoke`])
      expect((await person.client.get(path)).text, path).to.not.match(SECRET);
    expect(JSON.stringify(context.log)).to.not.match(SECRET);
    const entries = await context.stores.organisations.audit(person.organisation, 10);
    const entry = entries.find(({ action }) => action === 'key.issue');
    expect(entry).to.include({ actor: person.email, action: 'key.issue', subject: key!.id });
  });

  it('and of webhooks name the API key that created a key or a webhook', async () => {
    const { client, organisation, email } = await signedIn(context);
    const { keys, webhooks } = context.stores;
    const first = await issueKey(keys, organisation, { name: 'Terraform', creator: { createdBy: email, rootCreator: email } });
    const createdBy = `key:${first.key.id}`;
    const second = await issueKey(keys, organisation, { name: 'CI', creator: { createdBy, rootCreator: email } });
    const fields = {
      name: 'Chat',
      url: 'https://chat.example/hook',
      events: ['scan.failed' as const],
      format: 'json' as const,
      creditsBelow: 5,
    };
    const added = await webhooks.add({ ...fields, organisation, createdBy });
    if (!added.ok) throw new Error('not added');
    const page = async (path: string) => (await client.get(path)).text;
    const list = await page(PATH);
    expect(list).to.include('API key Terraform').and.include(email).and.not.include(createdBy);
    for (const path of [`${PATH}/${second.key.id}/revoke`, WEBHOOKS_PATH, `${WEBHOOKS_PATH}/${added.webhook.id}`])
      expect(await page(path), path)
        .to.include('API key Terraform')
        .and.not.include(createdBy);
  });

  // ASVS 8.2.1: a right is granted by choice, not by default.
  it('offer the scopes of a pipeline, and no others until they are chosen', async () => {
    const person = await signedIn(context);
    const { text } = await person.client.get(`${PATH}/new`);
    const boxes = [...text.matchAll(/<input[^>]*name="scopes"[^>]*>/g)].map(([box]) => box);
    expect(boxes).to.have.lengthOf(KEY_SCOPES.length);
    const checked = boxes.filter((box) => / checked/.test(box)).map((box) => /value="([^"]*)"/.exec(box)![1]);
    expect(checked).to.deep.equal(['scans:read', 'scans:write']);
  });

  it('create one key if the form is sent again, and do not show it again', async () => {
    const person = await signedIn(context);
    const fields = { ...(await form(person)), name: 'once', expires_at: '', scopes: 'scans:read' };
    const answers = await Promise.all([person.client.post(`${PATH}/new`, fields), person.client.post(`${PATH}/new`, fields)]);
    const again = await person.client.post(`${PATH}/new`, fields);
    expect(answers.map(({ text }) => SECRET.test(text)).toSorted()).to.deep.equal([false, true]);
    expect(again.text).to.include('created before').and.not.match(SECRET);
    expect(await named(person, 'once')).to.have.lengthOf(1);
  });

  it('cannot touch the key of another form, person or organisation by its form ID', async () => {
    const [one, other] = [await signedIn(context), await signedIn(context)];
    const { form_id } = await form(one);
    for (const person of [one, other]) {
      const answer = await person.client.submit(`${PATH}/new`, { form_id, name: 'same', expires_at: '', scopes: 'scans:read' });
      expect(answer.status).to.equal(201);
      expect(await named(person, 'same')).to.have.lengthOf(1);
    }
  });

  for (const [what, change, text] of [
    ['no name', { name: ' ' }, 'Enter a name.'],
    ['a name that is too long', { name: 'x'.repeat(101) }, 'Name must have at most 100 characters.'],
    ['a date that does not exist', { expires_at: '2030-02-30' }, 'Enter a date, such as 2030-01-31.'],
    ['a date in the past', { expires_at: '2020-01-31' }, 'Enter a date in the future.'],
    ['no scope', { scopes: undefined }, 'Choose at least one scope.'],
    ['an unknown scope', { scopes: 'members:write' }, 'Scopes [(]item 1[)] must be one of'],
  ] as const)
    it(`show the error in the words of the form at its field for ${what}, and keep what was typed`, async () => {
      const person = await signedIn(context);
      const typed = { ...(await form(person)), name: 'typed <b>', expires_at: '2126-01-31', scopes: 'scans:read', ...change };
      const fields = Object.fromEntries(Object.entries(typed).filter(([, value]) => value !== undefined)) as Record<string, string>;
      const answer = await person.client.post(`${PATH}/new`, fields);
      expect(answer.status).to.equal(422);
      expect(answer.text).to.match(new RegExp(`<p class="field-error" id="[\\w-]+-error">${text}`));
      expect(answer.text).to.match(/<title>[^<]*problem[^<]*Create an API key/);
      if (!('name' in change)) expect(answer.text).to.include('value="typed &lt;b&gt;"');
      expect(await keysOf(person)).to.have.lengthOf(1);
    });

  it('reject forms without the token of the session', async () => {
    const person = await signedIn(context);
    const { id } = (await keysOf(person))[0]!;
    const { form_id } = await form(person);
    const fields = { form_id, name: 'x', expires_at: '', scopes: 'scans:read' };
    for (const token of [{}, { _csrf: 'x' }] as Record<string, string>[]) {
      expect((await person.client.post(`${PATH}/new`, { ...fields, ...token })).status).to.equal(403);
      expect((await person.client.post(`${PATH}/${id}/revoke`, { ...token })).status).to.equal(403);
    }
    expect((await keysOf(person)).map(({ revokedAt }) => revokedAt)).to.deep.equal([null]);
  });

  it('revoke a key after a question that names its last use, and record it', async () => {
    const person = await signedIn(context);
    const { key, secret } = await issueKey(context.stores.keys, person.organisation, { name: 'old' });
    const path = `${PATH}/${key.id}/revoke`;
    expect((await person.client.get(path)).text).to.include('The key was never used');
    await context.request('GET', '/v1/billing/credits', { key: secret });
    await context.stores.keys.flush();
    expect((await person.client.get(path)).text).to.include('The key seems to be in use');
    const answer = await person.client.submit(path, {});
    expect([answer.status, answer.headers.get('location')]).to.deep.equal([303, `${PATH}?revoked`]);
    expect((await context.request('GET', '/v1/billing/credits', { key: secret })).status).to.equal(401);
    const entries = await context.stores.organisations.audit(person.organisation, 10);
    const entry = entries.find(({ action }) => action === 'key.revoke');
    expect(entry).to.include({ actor: person.email, action: 'key.revoke', subject: key.id });
    // Another tab has revoked it: the result is what the person wants.
    expect((await person.client.submit(path, {}, `${PATH}/new`)).status).to.equal(303);
    expect((await person.client.get(path)).text).to.include('This API key is not live');
  });

  it('are closed to viewers and to visitors', async () => {
    const viewer = await signedIn(context, { role: 'viewer' });
    const { id } = (await keysOf(viewer))[0]!;
    for (const path of [PATH, `${PATH}/new`, `${PATH}/${id}/revoke`]) {
      expect((await viewer.client.get(path)).status, path).to.equal(403);
      viewer.client.cookies.clear();
      const visitor = await viewer.client.get(path);
      expect(visitor.headers.get('location'), path).to.equal(`/dashboard/sign-in?next=${encodeURIComponent(path)}`);
      await viewer.client.signIn(viewer.email, 'seven blue bicycles');
    }
    expect((await viewer.client.get('/dashboard/account')).text).to.not.include(PATH);
  });

  it('have the limit of the API on new keys, together with the API', async () => {
    const person = await signedIn(context);
    const key = (await issueKey(context.stores.keys, person.organisation)).secret;
    for (let count = 0; count < 20; count += 1)
      expect((await context.request('POST', '/v1/api-keys', { key, body: { name: 'x' } })).status).to.equal(201);
    const fields = { ...(await form(person)), name: 'y', expires_at: '', scopes: 'scans:read' };
    const answer = await person.client.post(`${PATH}/new`, fields);
    expect(answer.status).to.equal(429);
    expect(Number(answer.headers.get('retry-after'))).to.be.greaterThan(0);
    expect(answer.text).to.include('Too many requests').and.include('value="y"');
  });

  it('say that the organisation has as many keys as it may have', async () => {
    const person = await signedIn(context);
    for (let count = 1; count < 100; count += 1) await issueKey(context.stores.keys, person.organisation);
    const answer = await person.client.post(`${PATH}/new`, { ...(await form(person)), name: 'y', expires_at: '', scopes: 'scans:read' });
    expect(answer.status).to.equal(409);
    expect(answer.text).to.include('100 live API keys');
  });

  it('list the keys by status in parts', async () => {
    const person = await signedIn(context);
    for (let count = 0; count < 30; count += 1) await issueKey(context.stores.keys, person.organisation, { name: `key-${count}` });
    await issueKey(context.stores.keys, person.organisation, { name: 'gone', expiresAt: new Date(Date.now() - 1000) });
    const rows = (text: string) =>
      [...text.matchAll(/<th scope="row"[^>]*>([^<]*)<\/th>/g)].map(([, name]) => name!).filter((name) => /^key-|^gone|^test/.test(name));
    const first = await person.client.get(`${PATH}?status=live`);
    expect(rows(first.text)).to.have.lengthOf(25);
    const next = /rel="next" href="([^"]+)"/.exec(first.text)![1]!.replaceAll('&amp;', '&');
    const second = await person.client.get(next);
    expect(new Set([...rows(first.text), ...rows(second.text)]).size).to.equal(31);
    expect(rows((await person.client.get(`${PATH}?status=expired`)).text)).to.deep.equal(['gone']);
    expect((await person.client.get(`${PATH}?status=revoked`)).text).to.include('There is no revoked key');
    expect((await person.client.get(`${PATH}?cursor=x`)).status).to.equal(422);
  });
});
