/** The Idempotency-Key of every POST of the REST API. Submissions and responses with a secret have more tests of their own. */
import { expect } from 'chai';
import { addWebhook } from '../support/add-webhook.ts';
import { issueKey } from '../support/issue-key.ts';
import { HIGH_LIMITS, SUBMISSION, useContext } from './context.ts';
import { BEHIND_PROXY, client, newEmail, PUBLIC_SCANS, rowOf, tokenOf } from './public-context.ts';
import { down, type Request } from './replica.ts';

describe('a POST with an Idempotency-Key', () => {
  const context = useContext({ limits: HIGH_LIMITS, publicScans: PUBLIC_SCANS, ...BEHIND_PROXY });

  const submitted = async () => {
    const { id, key } = await context.organisation({ credits: 20 });
    const submit = async () => (await context.request('POST', '/v1/ci/scans', { key, body: SUBMISSION })).body.scan_id as string;
    return { id, key, submit, scanId: await submit() };
  };
  const cancelPath = (scanId: string) => `/v1/ci/scans/${scanId}/cancel`;
  const send = (path: string, idempotencyKey: string, request: Request = {}) =>
    context.request('POST', path, { ...request, headers: { ...request.headers, 'Idempotency-Key': idempotencyKey } });
  const cancel = (scanId: string, key: string, idempotencyKey = 'stop') => send(cancelPath(scanId), idempotencyKey, { key });
  const expireLeases = () => context.db.collection('idempotency').updateMany({}, { $set: { leaseUntil: new Date(0) } });

  /** A request that succeeds, by the ID of the operation. */
  type Sample = () => Promise<{ path: string; request: Request }>;
  const ofWebhook =
    (action: string): Sample =>
    async () => {
      const { id: organisation, key } = await context.organisation();
      const { webhook } = await addWebhook(context.stores, { organisation });
      return { path: `/v1/webhooks/${webhook.id}/${action}`, request: { key } };
    };
  const withBody =
    (path: string, body: object): Sample =>
    async () => {
      const { key } = await context.organisation({ credits: 20 });
      return { path, request: { key, body } };
    };
  const ends = new Date(Date.now() + 86_400_000).toISOString();
  const SAMPLES: Readonly<Record<string, Sample>> = {
    submitScan: withBody('/v1/ci/scans', SUBMISSION),
    issueKey: withBody('/v1/api-keys', { name: 'x' }),
    createWebhook: withBody('/v1/webhooks', { name: 'x', url: 'https://example.com/', events: ['scan.failed'] }),
    addKnownIssue: withBody('/v1/known-issues', {
      ...{ site: 'www.example.com', fingerprint: '0123456789abcdef', reason: 'x', owner: 'x', expires_at: ends },
    }),
    createSchedule: withBody('/v1/schedules', { schedule: '@daily', scan: SUBMISSION }),
    async runSchedule() {
      const { key } = await context.organisation();
      const { headers } = await context.request('POST', '/v1/schedules', { key, body: { schedule: '@daily', scan: SUBMISSION } });
      return { path: `${headers.get('location')}/run`, request: { key } };
    },
    rotateWebhookSecret: ofWebhook('rotate-secret'),
    testWebhook: ofWebhook('test'),
    async cancelScan() {
      const { key, scanId } = await submitted();
      return { path: cancelPath(scanId), request: { key } };
    },
    async replayWebhookDelivery() {
      const { id: organisation, key } = await context.organisation();
      const { webhook, delivery } = await addWebhook(context.stores, { organisation });
      return { path: `/v1/webhooks/${webhook.id}/deliveries/${delivery}/replay`, request: { key } };
    },
    async requestPublicScan() {
      const headers = { 'X-Forwarded-For': client(context).address };
      return { path: '/v1/public/scan-request', request: { headers, body: { url: 'https://example.com/', email: newEmail() } } };
    },
  };

  /** Their responses have a secret that is shown once. */
  const SECRET = ['issueKey', 'createWebhook', 'rotateWebhookSecret'];

  const posts = () =>
    Object.entries(context.document.paths).flatMap(([path, { post }]) => (path.startsWith('/v1/') && post ? [{ path, post }] : []));

  it('is documented for each of them, and each has a sample in this test', () => {
    const routes = [...context.app.acceptedMethods()].flatMap(([url, methods]) => (methods.has('POST') ? [url] : []));
    const ofRest = routes.filter((url) => url.startsWith('/v1/')).map((url) => url.replace(/:(\w+)/g, '{$1}'));
    expect(posts().map(({ path }) => path)).to.have.members(ofRest);
    expect(posts().map(({ post }) => post!.operationId)).to.have.members(Object.keys(SAMPLES));
    for (const { path, post } of posts()) {
      const { parameters = [], responses } = post as typeof post & { parameters?: { in: string; name: string; required?: boolean }[] };
      const header = parameters.find(({ in: where, name }) => where === 'header' && name === 'Idempotency-Key');
      expect(header?.required ?? false, path).to.equal(false);
      expect(header, path).to.have.nested.property('schema.maxLength', 255);
      expect(responses['409']?.content?.['application/json']?.examples, path).to.have.property('idempotency_conflict');
      const secret = SECRET.includes(post!.operationId!);
      const codes = Object.keys(responses['409']!.content!['application/json']!.examples!);
      expect(codes.includes('already_created'), path).to.equal(secret);
      for (const [status, { headers = {} }] of Object.entries(responses))
        if (status < '400') expect('Idempotent-Replayed' in headers, `${path} ${status}`).to.equal(!secret);
    }
  });

  for (const [operation, sample] of Object.entries(SAMPLES)) {
    it(`repeats the first response of ${operation}, unless it has a secret`, async () => {
      const { path, request } = await sample();
      const first = await send(path, 'once', request);
      expect(first.status, first.text).to.be.within(200, 299);
      expect(first.headers.get('idempotent-replayed')).to.equal(null);
      const second = await send(path, 'once', request);
      if (SECRET.includes(operation)) {
        expect([second.status, second.body.detail, second.body.id]).to.deep.equal([409, 'already_created', first.body.id]);
        return;
      }
      expect([second.status, second.text]).to.deep.equal([first.status, first.text]);
      expect(second.headers.get('idempotent-replayed')).to.equal('true');
      for (const name of ['content-type', 'location', 'retry-after']) expect(second.headers.get(name)).to.equal(first.headers.get(name));
    });
  }

  it('is rejected with another request, and if it is malformed', async () => {
    const { key, scanId, submit } = await submitted();
    const other = await submit();
    await cancel(scanId, key, 'once');
    const reused = await cancel(other, key, 'once');
    expect([reused.status, reused.body.detail[0].type]).to.deep.equal([422, 'idempotency_key.reused']);
    for (const [malformed, type] of [
      ['', 'string.min_length'],
      ['x'.repeat(256), 'string.max_length'],
    ] as const) {
      const answer = await cancel(other, key, malformed);
      expect(answer.status).to.equal(422);
      expect(answer.body.detail[0]).to.deep.include({ loc: ['header', 'idempotency-key'], type });
    }
    expect((await cancel(other, key, 'another')).status).to.equal(202);
  });

  it('answers 409 while the first request is in progress', async () => {
    const { key, scanId } = await submitted();
    const [held, reached] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    context.faults.set('scanResources.cancel', async (real, ...parameters) => {
      reached.resolve();
      await held.promise;
      return real(...parameters);
    });
    const first = cancel(scanId, key);
    await reached.promise;
    const second = await cancel(scanId, key);
    expect([second.status, second.body.detail]).to.deep.equal([409, 'idempotency_conflict']);
    expect(Number(second.headers.get('retry-after'))).to.be.within(1, 15);
    held.resolve();
    expect((await first).status).to.equal(202);
    expect((await cancel(scanId, key)).headers.get('idempotent-replayed')).to.equal('true');
  });

  it('gets the response of a canceled scan also if the first request died before its response was stored', async () => {
    const { key, scanId } = await submitted();
    context.faults.set('idempotency.complete', down);
    expect((await cancel(scanId, key)).status).to.equal(202);
    context.faults.clear();
    await context.stores.scans.mirror(scanId, { phase: 'canceled', finishedAt: new Date() });
    expect((await cancel(scanId, key)).body.detail).to.equal('idempotency_conflict');
    await expireLeases();
    const again = await cancel(scanId, key);
    expect([again.status, again.body.status]).to.deep.equal([202, 'canceled']);
    expect((await cancel(scanId, key, 'new')).body.detail).to.equal('scan_already_ended');
  });

  it('replays a delivery once also if the first request died before its response was stored', async () => {
    const { id: organisation, key } = await context.organisation();
    const { webhook, delivery } = await addWebhook(context.stores, { organisation });
    const replay = () => send(`/v1/webhooks/${webhook.id}/deliveries/${delivery}/replay`, 'once', { key });
    context.faults.set('idempotency.complete', down);
    const first = await replay();
    context.faults.clear();
    await expireLeases();
    const again = await replay();
    expect([first.status, again.status, again.body.id]).to.deep.equal([202, 202, first.body.id]);
    expect(await context.stores.deliveries.list(organisation, webhook.id, { limit: 10 })).to.have.lengthOf(2);
  });

  it('can be used again after a refusal, also for another request, and after an outage for the same one', async () => {
    const { id, key, scanId } = await submitted();
    const ended = await context.scan(id, { phase: 'done' });
    expect((await cancel(ended.id, key)).status).to.equal(409);
    context.faults.set('scanResources.cancel', down);
    expect((await cancel(scanId, key)).status).to.equal(503);
    context.faults.clear();
    const retried = await cancel(scanId, key);
    expect([retried.status, retried.headers.get('idempotent-replayed')]).to.deep.equal([202, null]);
    expect((await context.resource(scanId)).spec.cancel).to.equal(true);
  });

  it('belongs to its organisation and its sender', async () => {
    const [mine, theirs] = [await submitted(), await submitted()];
    await cancel(mine.scanId, mine.key);
    expect((await cancel(theirs.scanId, theirs.key)).headers.get('idempotent-replayed')).to.equal(null);
    const colleague = await issueKey(context.stores.keys, mine.id);
    const other = await cancel(mine.scanId, colleague.secret);
    expect([other.status, other.body.detail[0].type]).to.deep.equal([422, 'idempotency_key.reused']);
  });

  describe('for a public scan', () => {
    const ask = (visitor: { address: string }, body: object, idempotencyKey: string) =>
      send('/v1/public/scan-request', idempotencyKey, { headers: { 'X-Forwarded-For': visitor.address }, body });
    const newBody = () => ({ url: 'https://example.com/', email: newEmail() });

    it('returns the token also after the scan has ended, when another request starts a new scan', async () => {
      const [visitor, body] = [client(context), newBody()];
      const token = tokenOf(await ask(visitor, body, 'mine'));
      await context.stores.scans.mirror((await rowOf(context, token)).id, { phase: 'failed', finishedAt: new Date() });
      expect(tokenOf(await ask(visitor, body, 'mine'))).to.equal(token);
      expect(tokenOf(await visitor.ask(body))).to.not.equal(token);
    });

    for (const fault of ['idempotency.complete', 'scans.accept'] as const)
      it(`scans once if the first request died at ${fault}`, async () => {
        const [visitor, body] = [client(context), newBody()];
        context.faults.set(fault, down);
        const first = await ask(visitor, body, 'mine');
        context.faults.clear();
        await expireLeases();
        const row = (await context.db.collection('public_scans').findOne({ email: body.email }))!;
        await context.stores.scans.accept(row.scanId as string, { pagesReserved: 1 });
        await context.stores.scans.mirror(row.scanId as string, { phase: 'failed', finishedAt: new Date() });
        expect(tokenOf(await ask(visitor, body, 'mine'))).to.equal(tokenOf(first));
        expect(await context.db.collection('public_scans').countDocuments({ email: body.email })).to.equal(1);
      });

    for (const fault of ['scanResources.submit', 'scans.create'] as const)
      it(`submits a new scan after an outage at ${fault}`, async () => {
        const [visitor, body] = [client(context), newBody()];
        for (const _ of [1, 2]) {
          context.faults.set(fault, down);
          expect((await ask(visitor, body, 'mine')).status).to.equal(503);
          context.faults.clear();
        }
        const token = tokenOf(await ask(visitor, body, 'mine'));
        expect((await rowOf(context, token)).submission).to.equal('accepted');
        expect(tokenOf(await ask(visitor, body, 'mine'))).to.equal(token);
      });

    it('stores neither the address of the visitor nor the e-mail address', async () => {
      const [visitor, body] = [client(context), newBody()];
      tokenOf(await ask(visitor, body, 'mine'));
      const stored = JSON.stringify(await context.db.collection('idempotency').find().toArray());
      expect(stored).to.not.include(visitor.address).and.not.include(body.email);
    });

    it('belongs to the network of its sender, because people choose the same keys', async () => {
      const [one, other, body] = [client(context), client(context), newBody()];
      const token = tokenOf(await ask(one, body, '1'));
      expect(tokenOf(await ask(other, body, '1'))).to.not.equal(token);
    });

    it('is counted for each network before anything is written', async () => {
      const size = { limit: 1, windowSeconds: 60 };
      const small = await context.replica({ networkLimits: { 'idempotency-keys': size } });
      const visitor = client(small);
      const post = (key: string) => visitor.post({ body: newBody(), headers: { 'Idempotency-Key': key } });
      tokenOf(await post('1'));
      small.calls.length = 0;
      const { status, headers } = await post('2');
      expect([status, headers.get('ratelimit-policy')]).to.deep.equal([429, '"idempotency-keys";q=1;w=60']);
      expect(small.calls).to.deep.equal([]);
    });
  });
});
