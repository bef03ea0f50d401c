/** Webhooks of the real operator: from the end of a scan, a regression or a low balance to a receiver that checks the signature. */
import { expect } from 'chai';
import { Webhook as Verifier } from 'standardwebhooks';
import { scanObject } from '../../stores/scans/scan-object.ts';
import type { Webhook } from '../../stores/webhooks/webhooks.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { startReceiver, type Received, type Receiver } from '../support/webhook-receiver.ts';
import { ORGANISATION, until, useContext } from './context.ts';

describe('operator: webhooks', function () {
  this.timeout(240_000);
  const context = useContext();
  let receiver: Receiver;
  before(() => context.grant(1000));
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(async () => {
    await context.rest();
    await receiver.close();
    for (const { id } of await context.stores.webhooks.list(ORGANISATION)) await context.stores.webhooks.remove(ORGANISATION, id);
  });

  function start() {
    context.start({ targets: { allow: ['site.test:8080'], deny: [] } });
    context.startOutbox({ targets: { allow: [receiver.target], deny: [] } });
  }

  async function webhook(over: Partial<Webhook> = {}): Promise<{ webhook: Webhook; secret: string }> {
    const events = ['scan.completed', 'scan.failed', 'schedule.regressed'] as const;
    const fields = { name: 'test', url: `${receiver.url}/hook`, events, format: 'json', creditsBelow: 1, ...over } as const;
    const added = await context.stores.webhooks.add({ ...fields, organisation: ORGANISATION, createdBy: 'ada@example.com' });
    if (!added.ok) throw new Error(added.reason);
    return added;
  }

  /** What the library of Standard Webhooks reads from a request. @throws if the signature is wrong */
  const verified = ({ body, headers }: Received, secret: string) =>
    new Verifier(secret).verify(body, headers as Record<string, string>) as {
      type: string;
      timestamp: string;
      data: Record<string, unknown>;
    };

  it('delivers the end of each scan, signed, as the REST API shows the scan', async () => {
    start();
    const { webhook: one, secret } = await webhook();
    const done = await context.submit();
    const pod = await done.pod();
    await done.startPod(pod);
    await done.publish(await done.upload(pod, bytesOf(reportOf(await done.input()))));
    await done.settles();
    await until('the event arrived', () => receiver.received.length === 1);
    const [request] = receiver.received as [Received];
    const event = verified(request, secret);
    expect(event.type).to.equal('scan.completed');
    expect(event.data).to.deep.equal(JSON.parse(JSON.stringify(scanObject((await done.row())!))));
    expect(event.timestamp).to.equal(event.data['finished_at']);
    expect(request.headers['user-agent']).to.match(/^Curbcut-Webhooks\/\S+ \(\+https:\/\/curbcut\.example\.com\)$/);

    const canceled = await context.submit();
    await canceled.patch({ spec: { cancel: true } });
    await canceled.settles();
    await until('the event arrived', () => receiver.received.length === 2);
    const end = verified(receiver.received[1]!, secret);
    expect([end.type, end.data['scan_id'], end.data['status']]).to.deep.equal(['scan.failed', canceled.id, 'canceled']);

    const list = () => context.stores.deliveries.list(ORGANISATION, one.id, { limit: 10 });
    await until('both are recorded', async () => (await list()).every(({ state }) => state !== 'waiting'));
    const deliveries = await list();
    expect(deliveries.map(({ state, attempts }) => [state, attempts.length])).to.deep.equal([
      ['delivered', 1],
      ['delivered', 1],
    ]);
    expect(deliveries.map(({ message }) => message)).to.have.members(receiver.received.map(({ headers }) => headers['webhook-id']));
    expect(deliveries[0]!.attempts[0]).to.include({ statusCode: 204, error: null, response: '' });
  });

  it('sends a regression after the end of its scan, and a low balance once', async () => {
    start();
    const { webhook: one, secret } = await webhook({ events: ['scan.completed', 'schedule.regressed', 'credits.low'], creditsBelow: 1 });
    const scan = await context.submit();
    const found = { new: 2, onNewPages: 0, newRootCauses: 1, fixed: 0, unchanged: 5, notTested: 0 };
    const about = { namespace: 'team', name: 'nightly', url: 'https://shop.example.com/' };
    const data = { ...about, scanId: scan.id, previousScanId: 'before', passed: false, comparison: found };
    for (let twice = 0; twice < 2; twice += 1)
      await context.stores.webhookEvents.add({ scan: scan.id, organisation: ORGANISATION, at: new Date(), data });
    const pod = await scan.pod();
    await scan.startPod(pod);
    await scan.publish(await scan.upload(pod, bytesOf(reportOf(await scan.input()))));
    await scan.settles();
    await until('both arrived', () => receiver.received.length === 2);
    const [end, regressed] = receiver.received.map((request) => verified(request, secret));
    expect([end!.type, regressed!.type]).to.deep.equal(['scan.completed', 'schedule.regressed']);
    expect(regressed!.data).to.deep.equal({
      schedule: { namespace: 'team', name: 'nightly', url: 'https://shop.example.com/' },
      scan_id: scan.id,
      previous_scan_id: 'before',
      passed: false,
      comparison: { new: 2, on_new_pages: 0, new_known: 0, new_root_causes: 1, fixed: 0, unchanged: 5, not_tested: 0 },
      message: 'The scan does not meet its thresholds. Compared with the scan before it: 2 violations new, 0 fixed, 5 unchanged.',
    });
    // The outbox looks when it starts.
    const { balance } = await context.stores.credits.balance(ORGANISATION);
    await context.stores.webhooks.change(ORGANISATION, one.id, { creditsBelow: balance + 1 });
    const queued = async (id: string) =>
      (await context.stores.deliveries.list(ORGANISATION, id, { limit: 10 })).filter(({ type }) => type === 'credits.low').length;
    await context.rest();
    start();
    await until('the event arrived', () => receiver.received.length === 3);
    await context.rest();
    // Its event shows that the next replica has looked at the balance.
    const { webhook: other } = await webhook({ url: `${receiver.url}/other`, events: ['credits.low'], creditsBelow: balance + 1 });
    start();
    await until('the other one has an event', async () => (await queued(other.id)) === 1);
    expect(await queued(one.id)).to.equal(1);
    await context.stores.webhooks.remove(ORGANISATION, other.id);
    expect(verified(receiver.received[2]!, secret)).to.deep.include({
      type: 'credits.low',
      data: { balance, credits_below: balance + 1 },
    });
    await context.grant(10);
    await context.rest();
    start();
    await until('the balance is not low', async () => !(await context.stores.webhooks.creditsWatchers())[0]!.low);
    await context.stores.webhooks.change(ORGANISATION, one.id, { creditsBelow: balance + 100 });
    await context.rest();
    start();
    await until('a second event arrived', () => receiver.received.filter(({ path }) => path === '/hook').length === 4);
  });
});
