/** Settings → API keys: creating a key once, revoking it, and who may. */
import { expect } from 'chai';
import { KEY_SCOPES } from '../../core/accounts.ts';
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

  for (const [what, change, text] of [
    ['a date that does not exist', { expires_at: '2030-02-30' }, 'Enter a date, such as 2030-01-31.'],
    ['no scope', { scopes: undefined }, 'Choose at least one scope.'],
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

  it('revoke a key after a question that names its last use, and record it', async () => {
    const person = await signedIn(context);
    const { key, secret } = await issueKey(context.stores.keys, person.organisation, { name: 'old' });
    const path = `${PATH}/${key.id}/revoke`;
    expect((await person.client.get(path)).text).to.include('The key was never used');
    const answer = await person.client.submit(path, {});
    expect([answer.status, answer.headers.get('location')]).to.deep.equal([303, `${PATH}?revoked`]);
    expect((await context.request('GET', '/v1/billing/credits', { key: secret })).status).to.equal(401);
    const entries = await context.stores.organisations.audit(person.organisation, 10);
    const entry = entries.find(({ action }) => action === 'key.revoke');
    expect(entry).to.include({ actor: person.email, action: 'key.revoke', subject: key.id });
    // Another tab has revoked it: the result is what the person wants.
  });

  it('are closed to viewers', async () => {
    const viewer = await signedIn(context, { role: 'viewer' });
    for (const path of [PATH, `${PATH}/new`]) expect((await viewer.client.get(path)).status, path).to.equal(403);
    expect((await viewer.client.get('/dashboard/account')).text).to.not.include(PATH);
  });

  it('have the limit of the API on new keys, together with the API', async () => {
    const person = await signedIn(context);
    const rule = { policy: 'key-creations', subject: person.organisation, limit: 20, windowSeconds: 60 };
    for (let count = 0; count < 20; count += 1) await context.stores.rateLimits.admit([rule]);
    const fields = { ...(await form(person)), name: 'y', expires_at: '', scopes: 'scans:read' };
    const answer = await person.client.post(`${PATH}/new`, fields);
    expect(answer.status).to.equal(429);
    expect(Number(answer.headers.get('retry-after'))).to.be.greaterThan(0);
    expect(answer.text).to.include('Too many requests').and.include('value="y"');
  });

  it('say that the organisation has as many keys as it may have', async () => {
    const person = await signedIn(context);
    context.faults.set('keys.issue', async () => ({ ok: false, reason: 'too_many_keys' }));
    const answer = await person.client.post(`${PATH}/new`, { ...(await form(person)), name: 'y', expires_at: '', scopes: 'scans:read' });
    expect(answer.status).to.equal(409);
    expect(answer.text).to.include('100 live API keys');
  });
});
