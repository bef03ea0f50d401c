/** Several senders of webhooks in processes that are killed, receivers that fail, and receivers that never answer. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { openStores, type AllStores } from '../../stores/stores.ts';
import type { Delivery } from '../../stores/webhooks/deliveries.ts';
import { until } from '../runtime/cluster.ts';
import { useDatabase } from '../stores/database.ts';
import { nightly } from '../support/nightly.ts';
import { createRandom } from '../support/random.ts';
import { startReceiver, type Answer, type Received, type Receiver } from '../support/webhook-receiver.ts';

const SENDERS = 3;
const EVENTS_PER_SCAN = 4;
const SCANS = nightly(60, 2_500);
const KILLS = nightly(4, 100);
const WAIT_MS = nightly(120_000, 3_600_000);
/** The time limit of a request. */
const REQUEST_MS = 2_000;
const PROGRAM = fileURLToPath(new URL('../support/webhook-sender-process.ts', import.meta.url));

describe('senders of webhooks', function () {
  this.timeout(WAIT_MS * 2);
  const database = useDatabase();
  let stores: AllStores;
  let receiver: Receiver;
  let senders: ChildProcess[];
  let hanging: Receiver;
  /** Gets the next request, which is not answered. */
  let held: ((received: Received) => void) | null;
  const random = createRandom(7);

  before(() => {
    stores = openStores(database.db);
  });
  beforeEach(async () => {
    [receiver, hanging] = [await startReceiver(fails), await startReceiver(() => 'hang')];
    senders = [];
    held = null;
    for (let at = 0; at < SENDERS; at += 1) start();
  });
  afterEach(async () => {
    await Promise.all(senders.map((sender) => stop(sender, 'SIGKILL')));
    await Promise.all([receiver.close(), hanging.close()]);
    for (const name of ['webhooks', 'webhook_deliveries']) await database.db.collection(name).deleteMany({});
  });

  /** Answers half of the requests with an error, or not at all. */
  const fails = (received: Received): Answer => {
    if (held !== null) {
      held(received);
      held = null;
      return 'hang';
    }
    const chance = random();
    if (chance < 0.2) return 'drop';
    return chance < 0.5 ? { status: 503, body: 'busy' } : { status: 200 };
  };
  const start = () =>
    void senders.push(spawn(process.execPath, [PROGRAM, database.url, String(REQUEST_MS)], { stdio: ['ignore', 'ignore', 'inherit'] }));
  async function stop(sender: ChildProcess, signal: NodeJS.Signals): Promise<void> {
    if (sender.exitCode !== null || sender.signalCode !== null) return;
    sender.kill(signal);
    await once(sender, 'exit');
  }

  async function webhookOf(organisation: string, url: string): Promise<string> {
    const fields = { name: 'x', url, events: ['scan.completed'], format: 'json', creditsBelow: 1, createdBy: 'test' } as const;
    const added = await stores.webhooks.add({ ...fields, organisation });
    if (!added.ok) throw new Error(added.reason);
    return added.webhook.id;
  }
  /** Events of a scan, the first of which precedes the others. */
  const eventsOf = (webhook: string, organisation: string, scan: string) =>
    Array.from({ length: EVENTS_PER_SCAN }, (_, order) => {
      const body = JSON.stringify({ scan, order });
      return { webhook, organisation, event: `${scan}/${order}`, type: 'scan.completed' as const, scan, order, body };
    });
  const waiting = (organisation: string) => database.db.collection('webhook_deliveries').countDocuments({ organisation, state: 'waiting' });
  async function deliveriesOf(organisation: string, webhook: string): Promise<Delivery[]> {
    return stores.deliveries.list(organisation, webhook, { limit: SCANS * EVENTS_PER_SCAN + 1 });
  }

  it('deliver every event, in order for each scan, with one log entry for each attempt, whoever is killed', async () => {
    const organisations = ['acme', 'globex', 'initech'];
    const webhooks = new Map<string, string>();
    for (const organisation of organisations) webhooks.set(organisation, await webhookOf(organisation, `${receiver.url}/${organisation}`));
    for (let scan = 0; scan < SCANS; scan += 1) {
      const organisation = organisations[scan % organisations.length]!;
      await stores.deliveries.enqueue(eventsOf(webhooks.get(organisation)!, organisation, `scan-${scan}`));
    }
    const left = async () => (await Promise.all(organisations.map(waiting))).reduce((sum, count) => sum + count, 0);
    const total = SCANS * EVENTS_PER_SCAN;
    for (let kill = 1; kill <= KILLS; kill += 1) {
      await until('more was delivered', async () => (await left()) <= total * (1 - kill / (KILLS + 1)), WAIT_MS);
      // While its request is under way.
      const { headers } = await new Promise<Received>((resolve) => (held = resolve));
      const at = senders.findIndex(({ pid }) => String(pid) === headers['user-agent']);
      await stop(senders.splice(at, 1)[0]!, 'SIGKILL');
      start();
    }
    await until('everything is delivered', async () => (await left()) === 0, WAIT_MS);

    const arrived = new Map<string, number>();
    const last = new Map<string, number>();
    for (const { headers, body } of receiver.received) {
      const id = String(headers['webhook-id']);
      arrived.set(id, (arrived.get(id) ?? 0) + 1);
      const { scan, order } = JSON.parse(body) as { scan: string; order: number };
      expect(order, `${scan} after ${last.get(scan)}`).to.be.oneOf([last.get(scan) ?? 0, (last.get(scan) ?? -1) + 1]);
      last.set(scan, order);
    }
    const all = (await Promise.all([...webhooks].map(([organisation, webhook]) => deliveriesOf(organisation, webhook)))).flat();
    expect(all).to.have.lengthOf(total);
    let interrupted = 0;
    for (const { id, state, attempts } of all) {
      expect(state).to.equal('delivered');
      const ended = attempts.filter(({ durationMs }) => durationMs !== null);
      expect(ended.at(-1)).to.include({ statusCode: 200, error: null });
      interrupted += attempts.length - ended.length;
      // A request of a sender that was killed has an entry without an end; a killed sender may not have sent it.
      expect(arrived.get(id), id).to.be.within(ended.length, attempts.length);
    }
    expect(
      all.flatMap(({ attempts }) => attempts).filter(({ statusCode }) => statusCode === 503),
      'failed attempts',
    ).to.not.be.empty;
    expect(interrupted, 'interrupted attempts').to.be.above(0);
  });

  it('deliver to others while receivers of many organisations never answer', async () => {
    const dead = Array.from({ length: 40 }, (_, index) => `dead-${index}`);
    const scansOfEach = 3;
    for (const organisation of dead) {
      const webhook = await webhookOf(organisation, hanging.url);
      for (let scan = 0; scan < scansOfEach; scan += 1)
        await stores.deliveries.enqueue(eventsOf(webhook, organisation, `${organisation}-${scan}`));
    }
    await until('they are tried', () => hanging.received.length >= dead.length, WAIT_MS);
    const healthy = await webhookOf('healthy', receiver.url);
    const before = hanging.received.length;
    await stores.deliveries.enqueue(eventsOf(healthy, 'healthy', 'one'));
    await until('they are delivered', async () => (await waiting('healthy')) === 0, WAIT_MS);
    // Without lanes, each delivery of the others would have been tried before.
    expect(hanging.received.length - before).to.be.below((dead.length * scansOfEach * EVENTS_PER_SCAN) / 2);
    for (const organisation of dead) expect(await waiting(organisation)).to.be.above(0);
  });
});
