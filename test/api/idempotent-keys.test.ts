/** Repeated requests for an API key with the same Idempotency-Key. */
import { expect } from 'chai';
import { LIVE_KEYS_MAX } from '../../stores/accounts/key-slots.ts';
import { issueKey } from '../support/issue-key.ts';
import { createClient, tokenIn, type Client } from './client.ts';
import { useContext, HIGH_LIMITS, SUBMISSION, type ApiContext } from './context.ts';
import { PASSWORD, signedIn } from './people.ts';

const SECRET = /svc_live_[0-9A-Za-z]{38}/;

describe('POST /v1/api-keys with an Idempotency-Key', () => {
  const context = useContext({ limits: HIGH_LIMITS });

  const create = (key: string, idempotencyKey: string, body: object = { name: 'x' }, replica: Pick<ApiContext, 'request'> = context) =>
    replica.request('POST', '/v1/api-keys', { key, body, headers: { 'Idempotency-Key': idempotencyKey } });
  const count = async (organisation: string) => (await context.stores.keys.list(organisation, { limit: 200 })).length;
  /** What the database holds about keys and Idempotency-Keys. */
  const stored = async () =>
    JSON.stringify(await Promise.all(['keys', 'idempotency', 'audit'].map((name) => context.db.collection(name).find().toArray())));

  it('answers a repeated request with the first response, with a key that works, and creates no second one', async () => {
    const { id, key } = await context.organisation();
    const other = await context.replica();
    const first = await create(key, 'deploy-1');
    const second = await create(key, 'deploy-1', { name: 'x', expires_at: null }, other);
    expect([first.status, second.status]).to.deep.equal([201, 201]);
    expect(second.text).to.equal(first.text);
    expect([first.headers.get('idempotent-replayed'), second.headers.get('idempotent-replayed')]).to.deep.equal([null, 'true']);
    expect((await context.request('GET', '/v1/billing/credits', { key: second.body.key })).status).to.equal(200);
    expect(await count(id)).to.equal(2);
    const entries = await context.stores.organisations.audit(id, 10);
    expect(entries.map(({ action, subject }) => [action, subject])).to.deep.equal([['key.issue', first.body.id]]);
  });

  // ASVS 13.3.1 and 14.2: secrets are not stored in clear.
  it('stores the key nowhere', async () => {
    const { key } = await context.organisation();
    const { body } = await create(key, 'deploy-1');
    await create(key, 'deploy-1');
    expect(await stored())
      .to.not.include(body.key)
      .and.not.include(body.key.slice(9, 41));
    expect(JSON.stringify(context.log)).to.not.match(SECRET);
  });

  it('returns the first response also after the key was revoked, and after its place was needed', async () => {
    const { id, key } = await context.organisation();
    const first = await create(key, 'deploy-1');
    await context.request('DELETE', `/v1/api-keys/${first.body.id}`, { key });
    for (let live = 1; live < LIVE_KEYS_MAX; live += 1) await issueKey(context.stores.keys, id);
    const second = await create(key, 'deploy-1');
    expect([second.status, second.text]).to.deep.equal([201, first.text]);
    expect((await context.request('GET', '/v1/billing/credits', { key: second.body.key })).status).to.equal(401);
  });

  it('rejects the Idempotency-Key with a different body, from a different key, and of a submission', async () => {
    const { id, key } = await context.organisation({ credits: 10 });
    const other = await issueKey(context.stores.keys, id);
    await create(key, 'deploy-1');
    await context.request('POST', '/v1/ci/scans', { key, body: SUBMISSION, headers: { 'Idempotency-Key': 'build-1' } });
    const before = await count(id);
    for (const [sender, idempotencyKey, body] of [
      [key, 'deploy-1', { name: 'y' }],
      [other.secret, 'deploy-1', { name: 'x' }],
      [key, 'build-1', { name: 'x' }],
    ] as const) {
      const answer = await create(sender, idempotencyKey, body);
      expect(answer.status).to.equal(422);
      expect(answer.body.detail[0]).to.deep.include({ loc: ['header', 'idempotency-key'], type: 'idempotency_key.reused' });
      expect(answer.text).to.not.match(SECRET);
    }
    expect(await count(id)).to.equal(before);
  });

  it('creates one key for concurrent requests, and answers 409 until it exists', async () => {
    const { id, key } = await context.organisation();
    const replicas = [context, await context.replica()];
    const answers = await Promise.all(Array.from({ length: 6 }, (_, index) => create(key, 'race', { name: 'x' }, replicas[index % 2])));
    expect(answers.filter(({ status }) => status === 201)).to.not.be.empty;
    for (const answer of answers)
      if (answer.status !== 201) {
        expect([answer.status, answer.body.detail]).to.deep.equal([409, 'idempotency_conflict']);
        expect(answer.headers.get('retry-after')).to.match(/^[1-9]\d*$/);
      }
    const [first] = answers.filter(({ status }) => status === 201);
    expect((await create(key, 'race')).text).to.equal(first!.text);
    expect(await count(id)).to.equal(2);
  });

  for (const [when, fault] of [
    ['before the key was stored', () => Promise.reject(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }))],
    [
      'after the key was stored',
      async (real: (...parameters: unknown[]) => Promise<unknown>, ...parameters: unknown[]) => {
        await real(...parameters);
        throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
      },
    ],
  ] as const)
    it(`issues one key if the first attempt died ${when}`, async () => {
      const { id, key } = await context.organisation();
      context.faults.set('keys.issue', fault as never);
      expect((await create(key, 'retry')).status).to.equal(503);
      context.faults.clear();
      const second = await create(key, 'retry');
      const third = await create(key, 'retry');
      expect([second.status, third.text]).to.deep.equal([201, second.text]);
      expect((await context.request('GET', '/v1/billing/credits', { key: second.body.key })).status).to.equal(200);
      expect(await count(id)).to.equal(2);
    });

  it('keeps the Idempotency-Key free after a refusal, also for another body', async () => {
    const { id, key } = await context.organisation();
    for (let live = 1; live < LIVE_KEYS_MAX; live += 1) await issueKey(context.stores.keys, id);
    expect((await create(key, 'full')).body.detail).to.equal('too_many_keys');
    expect((await create(key, 'full', { name: 'x', expires_at: '2020-01-01T00:00:00Z' })).body.detail[0].type).to.equal('date.past');
    const [last] = await context.stores.keys.list(id, { status: 'live', limit: 1 });
    await context.stores.keys.revoke(id, last!.id);
    expect((await create(key, 'full', { name: 'y' })).status).to.equal(201);
  });

  it('replays for the session of a user, and not for another session of the same user', async () => {
    const person = await signedIn(context);
    const elsewhere = createClient(context.url);
    await elsewhere.signIn(person.email, PASSWORD);
    const post = async (client: Client) =>
      context.request('POST', '/v1/api-keys', {
        key: null,
        body: { name: 'x' },
        headers: {
          'Idempotency-Key': 'from the dashboard',
          Cookie: [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
          'X-CSRF-Token': tokenIn((await client.get('/dashboard/account')).text),
        },
      });
    const first = await post(person.client);
    const second = await post(person.client);
    expect([first.status, second.status, second.text]).to.deep.equal([201, 201, first.text]);
    const other = await post(elsewhere);
    expect([other.status, other.body.detail[0].type]).to.deep.equal([422, 'idempotency_key.reused']);
    expect(await count(person.organisation)).to.equal(2);
  });
});
