/** Repeated requests with the same Idempotency-Key, of operations whose response holds a secret that is shown once. */
import { expect } from 'chai';
import { LIVE_KEYS_MAX } from '../../stores/accounts/key-slots.ts';
import { addWebhook } from '../support/add-webhook.ts';
import { issueKey } from '../support/issue-key.ts';
import { createClient, tokenIn, type Client } from './client.ts';
import { useContext, HIGH_LIMITS, type ApiContext } from './context.ts';
import { PASSWORD, signedIn } from './people.ts';
import { down } from './replica.ts';

const SECRET = /svc_live_[0-9A-Za-z]{38}|whsec_[0-9A-Za-z+/=]+/;

/** Runs the command, and loses its answer. */
const loseAnswer = async (real: (...parameters: unknown[]) => Promise<unknown>, ...parameters: unknown[]) => {
  await real(...parameters);
  throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
};

interface Operation {
  name: string;
  action: string;
  /** The command that does the work. */
  work: string;
  /** The path, the body, and how often the work was done. */
  prepare(organisation: string): Promise<{ path: string; body: object; done: () => Promise<number> }>;
}

describe('a POST whose response has a secret, with an Idempotency-Key', () => {
  const context = useContext({ limits: HIGH_LIMITS });
  afterEach(() => context.faults.clear());

  const send = (key: string, idempotencyKey: string, path: string, body: object, replica: Pick<ApiContext, 'request'> = context) =>
    replica.request('POST', path, { key, body, headers: { 'Idempotency-Key': idempotencyKey } });
  const expireLeases = () => context.db.collection('idempotency').updateMany({}, { $set: { leaseUntil: new Date(0) } });
  const entriesOf = async (organisation: string, action: string) =>
    (await context.stores.organisations.audit(organisation, 100)).filter((entry) => entry.action === action);

  const OPERATIONS: readonly Operation[] = [
    {
      name: 'issueKey',
      action: 'key.issue',
      work: 'keys.issue',
      prepare: async (organisation) => ({
        path: '/v1/api-keys',
        body: { name: 'x' },
        done: async () => (await context.stores.keys.list(organisation, { limit: 200 })).length - 1,
      }),
    },
    {
      name: 'createWebhook',
      action: 'webhook.add',
      work: 'webhooks.add',
      prepare: async (organisation) => ({
        path: '/v1/webhooks',
        body: { name: 'x', url: 'https://example.com/', events: ['scan.failed'] },
        done: async () => (await context.stores.webhooks.list(organisation)).length,
      }),
    },
    {
      name: 'rotateWebhookSecret',
      action: 'webhook.rotate',
      work: 'webhooks.rotate',
      async prepare(organisation) {
        const { id } = (await addWebhook(context.stores, { organisation })).webhook;
        const done = async () => (await context.stores.webhooks.sendable(id))!.secrets.length - 1;
        return { path: `/v1/webhooks/${id}/rotate-secret`, body: {}, done };
      },
    },
  ];

  const sampleOf = async ({ prepare }: Operation) => {
    const { id: organisation, key } = await context.organisation();
    const { path, body, done } = await prepare(organisation);
    return { organisation, done, post: (idempotencyKey = 'once', replica?: ApiContext) => send(key, idempotencyKey, path, body, replica) };
  };
  const created = (id: string) => [409, 'already_created', id];
  const summary = ({ status, body }: Awaited<ReturnType<typeof send>>) => [status, body.detail, body.id];

  for (const operation of OPERATIONS) {
    const { name, action, work } = operation;
    it(`does ${name} with a new secret after the first request died before the work`, async () => {
      const { organisation, post, done } = await sampleOf(operation);
      context.faults.set(work, down);
      expect((await post()).status).to.equal(503);
      context.faults.clear();
      const second = await post();
      expect(second.status, second.text).to.be.within(200, 201);
      expect(second.text).to.match(SECRET);
      expect(summary(await post())).to.deep.equal(created(second.body.id));
      expect(await done()).to.equal(1);
      expect(await entriesOf(organisation, action)).to.have.lengthOf(1);
    });

    it(`does not do ${name} again after the first request died after the work, and makes up for its audit entry`, async () => {
      const { organisation, post, done } = await sampleOf(operation);
      context.faults.set(work, loseAnswer as never);
      expect((await post()).status).to.equal(503);
      context.faults.clear();
      expect(await entriesOf(organisation, action)).to.have.lengthOf(0);
      const second = await post();
      const [status, detail, id] = summary(second);
      expect([status, detail]).to.deep.equal([409, 'already_created']);
      expect(second.text).to.not.match(SECRET);
      const entries = await entriesOf(organisation, action);
      expect(entries).to.have.lengthOf(1);
      expect(entries[0]!.subject).to.include(id);
      expect(await done()).to.equal(1);
      // No request takes the claim over any more.
      context.calls.length = 0;
      expect(summary(await post())).to.deep.equal(created(id as string));
      expect(context.calls).to.not.include(work);
    });
  }

  // ASVS 13.3.1 and 14.2: a secret is in no record.
  it('is recorded without the secret', async () => {
    const { post } = await sampleOf(OPERATIONS[0]!);
    const { body } = await post();
    await post();
    const records = await context.db
      .collection('idempotency')
      .find({ _id: /\/once$/ } as object)
      .toArray();
    const text = JSON.stringify([records, await context.db.collection('audit').find().toArray(), context.log]);
    const secret = body.key as string;
    expect(text).to.include(body.id).and.not.include(secret).and.not.include(secret.slice(9, 38));
    expect(text).to.not.match(SECRET);
  });

  it('is done once for requests at the same time, which answer 409', async () => {
    const { post, done } = await sampleOf(OPERATIONS[0]!);
    const answers = await Promise.all(Array.from({ length: 6 }, () => post('race')));
    expect(answers.filter(({ status }) => status < 300)).to.have.lengthOf(1);
    for (const { status, body } of answers)
      if (status >= 300) {
        expect(status).to.equal(409);
        expect(body.detail).to.be.oneOf(['idempotency_conflict', 'already_created']);
      }
    expect(await done()).to.equal(1);
  });

  const create = (key: string, idempotencyKey: string, body: object = { name: 'x' }) => send(key, idempotencyKey, '/v1/api-keys', body);
  const count = async (organisation: string) => (await context.stores.keys.list(organisation, { limit: 200 })).length;

  it('says that the key was created also after it was revoked, and after its place was needed', async () => {
    const { id, key } = await context.organisation();
    context.faults.set('idempotency.complete', down);
    const first = await create(key, 'deploy-1');
    context.faults.clear();
    await context.request('DELETE', `/v1/api-keys/${first.body.id}`, { key });
    for (let live = 1; live < LIVE_KEYS_MAX; live += 1) await issueKey(context.stores.keys, id);
    await expireLeases();
    const second = await create(key, 'deploy-1');
    expect([second.status, second.body.detail, second.body.id]).to.deep.equal([409, 'already_created', first.body.id]);
  });

  it('makes up for the audit entry of a request that was faster', async () => {
    for (const [path, body, find, work, action] of [
      ['/v1/api-keys', { name: 'x' }, 'keys.find', 'keys.issue', 'key.issue'],
      ['/v1/webhooks', { name: 'x', url: 'https://example.com/', events: ['scan.failed'] }, 'webhooks.find', 'webhooks.add', 'webhook.add'],
    ] as const) {
      const { id, key } = await context.organisation();
      context.faults.set(work, loseAnswer as never);
      await send(key, 'once', path, body);
      context.faults.clear();
      // The other request stores it after this one has looked.
      let looks = 0;
      context.faults.set(find, (real, ...parameters) => ((looks += 1) === 1 ? Promise.resolve(null as never) : real(...parameters)));
      expect((await send(key, 'once', path, body)).body.detail).to.equal('already_created');
      expect(await entriesOf(id, action), action).to.have.lengthOf(1);
      context.faults.clear();
    }
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

  it('belongs to the session of a user, and not to another session of the same user', async () => {
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
    expect([first.status, second.status, second.body.id]).to.deep.equal([201, 409, first.body.id]);
    const other = await post(elsewhere);
    expect([other.status, other.body.detail[0].type]).to.deep.equal([422, 'idempotency_key.reused']);
    expect(await count(person.organisation)).to.equal(2);
  });
});
