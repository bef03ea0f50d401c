/** What ends a webhook or a delivery: 410, days of failures, three days, forbidden addresses; with the mail to the owners. */
import { expect } from 'chai';
import { systemClock } from '../../platform/clock.ts';
import { createMetrics } from '../../api/metrics.ts';
import { deliver } from '../../api/outbox/delivery-loop.ts';
import { createPost, RESPONSE_MAX, type Post } from '../../api/outbox/post.ts';
import { createWebhookTransport } from '../../api/outbox/webhook-transport.ts';
import type { Resolution } from '../../core/scan/targets.ts';
import { RETRIED_FOR_MS, STOPPED_AFTER_MS } from '../../core/webhooks/webhooks.ts';
import { openStores, type AllStores } from '../../stores/stores.ts';
import type { Webhook, WebhookFields } from '../../stores/webhooks/webhooks.ts';
import { until } from '../runtime/cluster.ts';
import { useDatabase } from '../stores/database.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { startReceiver, type Answer, type Receiver } from '../support/webhook-receiver.ts';

const ACME = 'acme';

describe('ends of webhooks', () => {
  const database = useDatabase();
  let stores: AllStores;
  let receiver: Receiver;
  let answer: Answer;
  /** What happens while a request is under way. */
  let during: () => Promise<unknown>;
  let resolution: Resolution;
  let allow: string[];
  /** How far the clock of the sender is ahead, in milliseconds. */
  let ahead: number;
  let stopping: AbortController;
  let done: Promise<unknown>;
  const metrics = createMetrics();

  before(async () => {
    stores = openStores(database.db);
    await stores.organisations.add({ id: ACME, displayName: 'Acme Ltd', plan: 'team', namespaces: [] });
    for (const [email, role] of [
      ['ada@example.com', 'owner'],
      ['bob@example.com', 'member'],
    ] as const)
      await stores.users.add({ email, organisation: ACME, password: 'a long enough password', role });
  });
  beforeEach(async () => {
    for (const name of ['webhooks', 'outbox', 'scans']) await database.db.collection(name).deleteMany({});
    [answer, ahead, allow] = [{ status: 500 }, 0, ['127.0.0.0/8']];
    resolution = { ok: false, reason: 'not_found' };
    during = async () => undefined;
    receiver = await startReceiver(async () => (await during(), answer));
    start();
  });
  afterEach(async () => {
    stopping.abort();
    await done;
    await receiver.close();
  });

  function start(): void {
    stopping = new AbortController();
    const clock = { ...systemClock, now: () => new Date(Date.now() + ahead) };
    const ordinary = openStores(database.db);
    const context = {
      stores: ordinary,
      post: (...request: Parameters<Post>) =>
        createPost({ rules: { allow, deny: [] }, resolver: { resolve: async () => resolution }, userAgent: 'test', timeoutMs: 500 })(
          ...request,
        ),
      mailed: true,
      metrics,
      logger: silentLogger,
      clock,
      pollMs: 20,
      random: () => 0.5,
      nextAttempt: (_attempts: number, createdAt: Date, now: Date) =>
        now.getTime() - createdAt.getTime() > RETRIED_FOR_MS ? null : new Date(Date.now() + 20),
    };
    done = deliver(createWebhookTransport(context), context, stopping.signal);
  }

  async function webhook(over: Partial<WebhookFields> = {}): Promise<Webhook> {
    const fields = { name: 'Chat', url: `${receiver.url}/hook`, events: ['scan.completed'], format: 'json', creditsBelow: 1 } as const;
    const added = await stores.webhooks.add({ ...fields, ...over, organisation: ACME, createdBy: 'ada@example.com' });
    if (!added.ok) throw new Error(added.reason);
    return added.webhook;
  }
  let events = 0;
  async function enqueue({ id }: Webhook): Promise<string> {
    const event = `webhook.test:${(events += 1)}`;
    const one = { webhook: id, organisation: ACME, event, type: 'webhook.test', scan: null, order: 0, body: '{}' } as const;
    return (await stores.deliveries.enqueue([one]))[0]!.id;
  }
  const deliveryOf = async ({ id }: Webhook, delivery: string) => (await stores.deliveries.find(ACME, id, delivery))!;
  const current = async ({ id }: Webhook) => (await stores.webhooks.find(ACME, id))!;
  const mails = () => database.db.collection('outbox').find({ kind: 'webhook_stopped' }).toArray();
  async function attempted(one: Webhook, delivery: string) {
    await until('it was tried', async () => (await deliveryOf(one, delivery)).attempts.some(({ durationMs }) => durationMs !== null));
    return (await deliveryOf(one, delivery)).attempts[0]!;
  }

  it('stops an endpoint that answers 410 at once, cancels what waits, and mails the owners', async () => {
    answer = { status: 410 };
    const one = await webhook();
    const first = await enqueue(one);
    await until('it is stopped', async () => (await current(one)).disabled !== null);
    expect((await current(one)).disabled).to.include({ reason: 'gone' });
    expect((await deliveryOf(one, first)).state).to.equal('failed');
    const later = await enqueue(one);
    await until('it is withdrawn', async () => (await deliveryOf(one, later)).state === 'canceled');
    expect((await deliveryOf(one, later)).attempts).to.deep.equal([]);
    expect(receiver.received).to.have.lengthOf(1);
    const sent = await mails();
    expect(sent.map(({ to }) => to)).to.deep.equal(['ada@example.com']);
    expect(sent[0]!['data']).to.deep.include({
      organisation: 'Acme Ltd',
      webhook: 'Chat',
      host: receiver.target,
      reason: 'gone',
      path: `/dashboard/settings/webhooks/${one.id}`,
    });
  });

  it('sends no mail about an endpoint that is moved before it answers 410', async () => {
    answer = { status: 410 };
    const one = await webhook();
    during = () => stores.webhooks.change(ACME, one.id, { url: 'http://gone.example.com/' });
    const id = await enqueue(one);
    await until('it is given up', async () => (await deliveryOf(one, id)).state === 'failed');
    // A later delivery of another endpoint: what follows the first one is over.
    during = async () => undefined;
    const other = await webhook();
    await enqueue(other);
    await until('the other one is stopped', async () => (await current(other)).disabled !== null);
    const about = (await mails()).map(({ data }) => (data as { path: string }).path);
    expect(about).to.deep.equal([`/dashboard/settings/webhooks/${other.id}`]);
    expect((await current(one)).disabled?.reason).to.not.equal('gone');
  });

  it('stops an endpoint after five days of failures, and not if a day was without an attempt', async () => {
    const one = await webhook();
    const sixDays = STOPPED_AFTER_MS + 86_400_000;
    await stores.webhooks.failed(one.id, new Date(Date.now() - sixDays));
    // An attempt after a gap begins a new time.
    expect((await stores.webhooks.failed(one.id, new Date(Date.now() - 2 * 86_400_000))).getTime()).to.be.above(Date.now() - sixDays);
    const gap = await enqueue(one);
    await attempted(one, gap);
    expect((await current(one)).disabled).to.equal(null);
    const days = (count: number) => new Date(Date.now() + ahead - count * 86_400_000 + 3_600_000);
    ahead = 0;
    await database.db.collection('webhooks').updateOne({ _id: one.id as never }, { $set: { failingSince: days(6), failedAt: days(1) } });
    await until('it is stopped', async () => (await current(one)).disabled !== null);
    expect((await current(one)).disabled).to.include({ reason: 'failing' });
    expect((await mails()).map(({ data }) => (data as { reason: string }).reason)).to.deep.equal(['failing']);
    // Enabled again, it begins anew.
    await stores.webhooks.setEnabled(ACME, one.id, true);
    expect(await current(one)).to.include({ disabled: null, failingSince: null });
  });

  it('gives a delivery up after three days, and replays it on demand with the same message', async () => {
    const one = await webhook();
    const id = await enqueue(one);
    await attempted(one, id);
    ahead = RETRIED_FOR_MS + 60_000;
    await until('it is given up', async () => (await deliveryOf(one, id)).state === 'failed');
    ahead = 0;
    answer = { status: 200, body: 'x'.repeat(1000) };
    const again = (await stores.deliveries.replay(ACME, one.id, id, 'once'))!;
    await until('it is delivered', async () => (await deliveryOf(one, again.id)).state === 'delivered');
    const { attempts, message } = await deliveryOf(one, again.id);
    expect(message).to.equal(id);
    expect(receiver.received.at(-1)!.headers['webhook-id']).to.equal(id);
    expect(attempts[0]!.response).to.equal('x'.repeat(RESPONSE_MAX));
    expect((await current(one)).failingSince).to.equal(null);
  });

  it('does not send a delivery that waited for more than three days while nothing was sent', async () => {
    const one = await webhook();
    stopping.abort();
    await done;
    const id = await enqueue(one);
    ahead = RETRIED_FOR_MS + 60_000;
    start();
    await until('it is canceled', async () => (await deliveryOf(one, id)).state === 'canceled');
    expect([receiver.received, (await deliveryOf(one, id)).attempts]).to.deep.equal([[], []]);
  });

  it('says why an attempt failed, follows no redirect, and connects to no forbidden address', async () => {
    const closed = await startReceiver();
    await closed.close();
    const cases: [what: string, prepare: () => void, url: string, error: RegExp, status: number | null][] = [
      ['an error', () => (answer = { status: 503, body: 'busy' }), receiver.url, /^The endpoint answered 503\.$/, 503],
      [
        'a redirect',
        () => (answer = { status: 302, headers: { location: `${receiver.url}/other` } }),
        receiver.url,
        /^Redirects are not followed\.$/,
        302,
      ],
      ['no answer', () => (answer = 'hang'), receiver.url, /^The endpoint did not answer within 0\.5 s\.$/, null],
      ['a closed connection', () => (answer = 'drop'), receiver.url, /^The endpoint closed the connection\.$/, null],
      ['no listener', () => undefined, closed.url, /^The endpoint refused the connection\.$/, null],
      ['no URL', () => undefined, 'https://host.example.com:99999/', /^The address of the webhook is not a URL\.$/, null],
      ['no such name', () => undefined, 'http://gone.example.com/', /^gone\.example\.com cannot be resolved\.$/, null],
      // The name was public when the webhook was made.
      [
        'a name that is private now',
        () => ((resolution = { ok: true, addresses: ['10.0.0.1'] }), (allow = [])),
        'http://rebound.example.com/',
        /only publicly reachable hosts can be used\.$/,
        null,
      ],
    ];
    for (const [what, prepare, url, error, status] of cases) {
      prepare();
      const one = await webhook({ url });
      const found = await attempted(one, await enqueue(one));
      expect(found.error, what).to.match(error);
      expect(found.statusCode, what).to.equal(status);
      await stores.webhooks.setEnabled(ACME, one.id, false);
    }
    expect(receiver.received.map(({ path }) => path)).to.not.include('/other');
    const { values } = await metrics.registry.getSingleMetric('curbcut_webhook_attempts_total')!.get();
    for (const { labels, value } of values) if (labels['outcome'] !== 'delivered') expect(value, String(labels['outcome'])).to.be.above(0);
  });
});
