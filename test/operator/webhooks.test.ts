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
});
