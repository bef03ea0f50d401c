/** Webhooks over REST: what is accepted, what is shown, and who may change it. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { isWebhookSecret } from '../../core/webhooks/signature.ts';
import { WEBHOOKS_MAX } from '../../core/webhooks/webhooks.ts';
import { HIGH_LIMITS, useContext } from './context.ts';

const NEW = { name: 'Chat', url: 'https://example.com/hook?token=1', events: ['scan.completed', 'scan.failed'] };
const FIELDS = { name: 'Chat', url: NEW.url, events: ['scan.completed'], format: 'json', creditsBelow: 100 } as const;

describe('webhooks over REST while the installation sends none', () => {
  const context = useContext({ limits: HIGH_LIMITS, webhooks: false });

  it('are not created, enabled, tested or replayed, but listed, disabled and deleted', async () => {
    const { id: organisation, key } = await context.organisation();
    const send = async (method: string, path: string, body?: unknown) => {
      const answer = await context.request(method, path, { key, body });
      return [answer.status, answer.body?.detail ?? null];
    };
    const added = await context.stores.webhooks.add({ ...FIELDS, organisation, createdBy: 'ada@example.com' });
    const one = `/v1/webhooks/${added.ok && added.webhook.id}`;
    expect(await send('PATCH', one, { enabled: false })).to.deep.equal([200, null]);
    const off = [403, 'webhooks_off'];
    expect(await send('POST', '/v1/webhooks', NEW)).to.deep.equal(off);
    expect(await send('PATCH', one, { enabled: true })).to.deep.equal(off);
    for (const path of ['test', 'deliveries/msg_0/replay']) expect(await send('POST', `${one}/${path}`), path).to.deep.equal(off);
    expect(await send('GET', '/v1/webhooks')).to.deep.equal([200, null]);
    expect(await send('DELETE', one)).to.deep.equal([204, null]);
  });
});

describe('webhooks over REST', () => {
  const context = useContext({ limits: HIGH_LIMITS });
  let organisation: { id: string; key: string };
  beforeEach(async () => {
    organisation = await context.organisation();
  });

  const send = (method: string, path: string, body?: unknown) => context.request(method, path, { key: organisation.key, body });
  const create = async (over: object = {}) => (await send('POST', '/v1/webhooks', { ...NEW, ...over })).body;
  const actions = async () => (await context.stores.organisations.audit(organisation.id, 20)).map(({ action }) => action);
  const state = async (id: string) =>
    (await send('GET', `/v1/webhooks/${id}/deliveries`)).body.data.map((one: { status: string }) => one.status);

  it('shows the secret once, and records who made the webhook', async () => {
    const { status, body, headers } = await send('POST', '/v1/webhooks', NEW);
    expect(status).to.equal(201);
    const { secret, ...rest } = body;
    expect(isWebhookSecret(secret)).to.equal(true);
    expect(headers.get('location')).to.equal(`/v1/webhooks/${body.id}`);
    expect(rest).to.deep.include({ ...NEW, format: 'json', credits_below: 100, managed_by: 'api', enabled: true, failing_since: null });
    expect(rest.created_by).to.match(/^key:/);
    expect((await send('GET', `/v1/webhooks/${body.id}`)).body).to.deep.equal(rest);
    expect((await send('GET', '/v1/webhooks')).body).to.deep.equal({ data: [rest], next_cursor: null });
    expect(await actions()).to.include('webhook.add');
  });

  it('judges the address like that of a scan', async () => {
    expect((await send('POST', '/v1/webhooks', { ...NEW, url: 'https://inside.example.com/' })).body.detail[0]).to.include({
      type: 'url.private_address',
    });
    const { id } = await create();
    expect((await send('PATCH', `/v1/webhooks/${id}`, { url: 'http://10.0.0.1/' })).body.detail[0].type).to.equal('url.private_address');
  });

  it('refuses what is not a webhook', async () => {
    const types = async (method: string, path: string, body: object) =>
      (await send(method, path, body)).body.detail.map(({ type }: { type: string }) => type);
    expect(await types('POST', '/v1/webhooks', { ...NEW, events: [] })).to.deep.equal(['array.min_items']);
    const { id } = await create();
    expect(await types('PATCH', `/v1/webhooks/${id}`, {})).to.deep.equal(['object.min_properties']);
  });

  it('lists webhooks newest first, in pages', async () => {
    for (const name of ['one', 'two', 'three']) await create({ name });
    const { data, next_cursor } = (await send('GET', '/v1/webhooks?limit=2')).body;
    const rest = (await send('GET', `/v1/webhooks?limit=2&cursor=${next_cursor}`)).body;
    const created = [...data, ...rest.data].map((one: { created_at: string }) => one.created_at);
    expect([data.length, rest.data.length, rest.next_cursor]).to.deep.equal([2, 1, null]);
    expect(created).to.deep.equal(created.toSorted().toReversed());
    expect(new Set([...data, ...rest.data].map(({ name }) => name))).to.deep.equal(new Set(['one', 'two', 'three']));
  });

  it('limits the webhooks of an organisation, also of requests at the same time', async () => {
    const answers = await Promise.all(Array.from({ length: WEBHOOKS_MAX + 3 }, () => send('POST', '/v1/webhooks', NEW)));
    expect(answers.filter(({ status }) => status === 201)).to.have.lengthOf(WEBHOOKS_MAX);
    for (const { status, body } of answers) if (status !== 201) expect([status, body.detail]).to.deep.equal([409, 'too_many_webhooks']);
    const [first] = (await send('GET', '/v1/webhooks')).body.data;
    expect((await send('DELETE', `/v1/webhooks/${first.id}`)).status).to.equal(204);
    expect((await send('POST', '/v1/webhooks', NEW)).status).to.equal(201);
  });

  it('changes, disables and enables a webhook, and cancels what waits', async () => {
    const { id } = await create();
    const changed = await send('PATCH', `/v1/webhooks/${id}`, {
      name: ' Other ',
      events: ['credits.low'],
      format: 'slack',
      credits_below: 7,
    });
    expect(changed.body).to.include({ name: 'Other', format: 'slack', credits_below: 7, url: NEW.url, enabled: true });
    expect((await send('POST', `/v1/webhooks/${id}/test`)).status).to.equal(202);
    expect((await send('PATCH', `/v1/webhooks/${id}`, { enabled: false })).body).to.include({
      enabled: false,
      disabled_reason: 'requested',
    });
    expect(await state(id)).to.deep.equal(['canceled']);
    for (const path of ['test', 'deliveries/msg_0/replay']) {
      const { status, body } = await send('POST', `/v1/webhooks/${id}/${path}`);
      expect([status, body.detail]).to.deep.equal([409, 'webhook_disabled']);
    }
    expect((await send('PATCH', `/v1/webhooks/${id}`, { enabled: true })).body).to.include({ enabled: true, disabled_reason: null });
    // Nothing changes, so nothing is recorded.
    await send('PATCH', `/v1/webhooks/${id}`, { enabled: true });
    const recorded = (await actions()).filter((action) => action.startsWith('webhook.'));
    expect(recorded).to.deep.equal(['webhook.enable', 'webhook.disable', 'webhook.change', 'webhook.add']);
  });

  it('deletes a webhook with what waits', async () => {
    const { id } = await create();
    await send('POST', `/v1/webhooks/${id}/test`);
    expect((await send('DELETE', `/v1/webhooks/${id}`)).status).to.equal(204);
    const left = await context.db.collection('outbox').find({ fairnessKey: id }).toArray();
    expect(left.map((one) => one.state)).to.deep.equal(['canceled']);
    expect(await actions()).to.include('webhook.delete');
  });

  it('begins a new time of failures with another address only', async () => {
    const { id } = await create();
    await context.stores.webhooks.failed(id, new Date());
    const moved = async (url: string) => (await send('PATCH', `/v1/webhooks/${id}`, { url })).body;
    expect((await moved(NEW.url)).failing_since).to.be.a('string');
    expect(await moved('https://example.com/other')).to.include({ url: 'https://example.com/other', failing_since: null });
  });

  it('replaces the secret, and lets those before it sign for a day', async () => {
    const { id, secret } = await create();
    const { status, body } = await send('POST', `/v1/webhooks/${id}/rotate-secret`);
    expect(status).to.equal(200);
    expect(isWebhookSecret(body.secret)).to.equal(true);
    expect((await context.stores.webhooks.sendable(id))!.secrets).to.deep.equal([body.secret, secret]);
    expect(await actions()).to.include('webhook.rotate');
    const last = await send('POST', `/v1/webhooks/${id}/rotate-secret`, { keep_previous: false });
    expect((await context.stores.webhooks.sendable(id))!.secrets, 'after a leak').to.deep.equal([last.body.secret]);
  });

  it('lists deliveries in pages, and replays one with the same message', async () => {
    const { id } = await create();
    const sent = [];
    for (let at = 0; at < 3; at += 1) sent.push((await send('POST', `/v1/webhooks/${id}/test`)).body);
    expect(sent[0]).to.include({ event: 'webhook.test', status: 'waiting', scan_id: null });
    expect(JSON.parse(sent[0].body)).to.deep.include({ type: 'webhook.test', data: { webhook: { id, name: 'Chat' } } });
    const first = (await send('GET', `/v1/webhooks/${id}/deliveries?limit=2`)).body;
    const second = (await send('GET', `/v1/webhooks/${id}/deliveries?limit=2&cursor=${first.next_cursor}`)).body;
    expect([...first.data, ...second.data].map((one) => one.id)).to.have.members(sent.map((one) => one.id));
    expect(second.next_cursor).to.equal(null);
    const { status, body } = await send('POST', `/v1/webhooks/${id}/deliveries/${sent[0].id}/replay`);
    expect(status).to.equal(202);
    expect(body).to.include({ message_id: sent[0].message_id, body: sent[0].body, status: 'waiting' });
    expect(body.id).not.to.equal(sent[0].id);
    expect((await send('GET', `/v1/webhooks/${id}/deliveries?status=delivered`)).body.data).to.deep.equal([]);
  });

  it('answers 404 for what does not exist', async () => {
    const { id } = await create();
    const unknown = `/v1/webhooks/${randomUUID()}`;
    for (const [method, path] of [
      ['GET', unknown],
      ['DELETE', unknown],
      ['POST', `${unknown}/test`],
      ['POST', `${unknown}/rotate-secret`],
      ['GET', `${unknown}/deliveries`],
    ] as const) {
      const { status, body } = await send(method, path);
      expect([status, body.detail], path).to.deep.equal([404, 'webhook_not_found']);
    }
    const { status, body } = await send('POST', `/v1/webhooks/${id}/deliveries/msg_1/replay`);
    expect([status, body.detail]).to.deep.equal([404, 'delivery_not_found']);
    expect((await send('GET', '/v1/webhooks/x')).body.detail[0].type).to.equal('string.uuid');
  });

  it('does not change a webhook of the manifest', async () => {
    const declared = { name: 'm', url: 'https://example.com/', events: ['scan.failed'], format: 'json', creditsBelow: 100 } as const;
    const secret = `whsec_${'A'.repeat(43)}=`;
    const [change] = await context.stores.webhooks.declare(organisation.id, [{ ...declared, secret }]);
    const { webhook } = change!;
    for (const [method, path, body] of [
      ['PATCH', '', { name: 'mine' }],
      ['PATCH', '', { enabled: false }],
      ['DELETE', ''],
      ['POST', '/rotate-secret'],
    ] as const) {
      const answer = await send(method, `/v1/webhooks/${webhook.id}${path}`, body);
      expect([answer.status, answer.body.detail], `${method} ${path}`).to.deep.equal([409, 'webhook_managed_by_manifest']);
    }
    expect((await send('POST', `/v1/webhooks/${webhook.id}/test`)).status).to.equal(202);
    expect((await send('GET', '/v1/webhooks')).body.data[0]).to.include({ managed_by: 'manifest', created_by: 'manifest' });
  });
});
