/** Several senders of webhooks in processes that are killed, receivers that fail, and receivers that never answer. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { openStores, type AllStores } from '../../stores/stores.ts';
import type { Delivery } from '../../stores/outbox/deliveries.ts';
import { useDatabase } from '../stores/database.ts';
import { nightly } from '../support/nightly.ts';
import { createRandom } from '../support/random.ts';
import { startReceiver, type Answer, type Received, type Receiver } from '../support/webhook-receiver.ts';

const SENDERS = 3;
const EVENTS_PER_SCAN = 4;
const SCANS = nightly(60, 2_500);
const KILLS = nightly(4, 100);
/** As many scans wait for delivery at the same time: events arrive while others are sent. */
const BACKLOG = 60;
/** Half of the requests fail, and some are repeated because their sender was killed. */
const REQUESTS_PER_EVENT_MAX = 6;
/** Looks in a row at receivers to which nothing comes: many times as many as until the lease of a sender that was killed has ended. */
const IDLE_LOOKS_MAX = 10_000;
const LOOK_EVERY_MS = 20;
/** The time limit of a request. */
const REQUEST_MS = 2_000;
const PROGRAM = fileURLToPath(new URL('../support/webhook-sender-process.ts', import.meta.url));

describe('senders of webhooks', function () {
  // `arriving` bounds each wait by what arrives.
  this.timeout(0);
  const database = useDatabase();
  let stores: AllStores;
  let receiver: Receiver;
  let senders: ChildProcess[];
  let hanging: Receiver;
  /** Gets the next request, which is not answered. */
  let held: ((received: Received) => void) | null;
  /** The messages that the receiver has accepted. */
  let accepted: Set<string>;
  const random = createRandom(7);

  before(() => {
    stores = openStores(database.db);
  });
  beforeEach(async () => {
    [receiver, hanging] = [await startReceiver(fails), await startReceiver(() => 'hang')];
    senders = [];
    held = null;
    accepted = new Set();
    for (let at = 0; at < SENDERS; at += 1) start();
  });
  afterEach(async () => {
    await Promise.all(senders.map((sender) => stop(sender, 'SIGKILL')));
    await Promise.all([receiver.close(), hanging.close()]);
    for (const name of ['webhooks', 'outbox']) await database.db.collection(name).deleteMany({});
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
    if (chance < 0.5) return { status: 503, body: 'busy' };
    accepted.add(String(received.headers['webhook-id']));
    return { status: 200 };
  };
  const start = () =>
    void senders.push(spawn(process.execPath, [PROGRAM, database.url, String(REQUEST_MS)], { stdio: ['ignore', 'ignore', 'inherit'] }));
  async function stop(sender: ChildProcess, signal: NodeJS.Signals): Promise<void> {
    if (sender.exitCode !== null || sender.signalCode !== null) return;
    sender.kill(signal);
    await once(sender, 'exit');
  }

  /** Waits until `holds` is true. Fails if far more arrives than retries explain, or nothing any more. */
  async function arriving(what: string, events: number, holds: () => boolean | Promise<boolean>): Promise<void> {
    const count = () => receiver.received.length + hanging.received.length;
    let [last, idle] = [count(), 0];
    while (!(await holds())) {
      const arrived = count();
      idle = arrived === last ? idle + 1 : 0;
      last = arrived;
      expect(idle, `looks without a request, waiting until ${what}`).to.be.below(IDLE_LOOKS_MAX);
      expect(arrived, `requests, waiting until ${what}`).to.be.below(events * REQUESTS_PER_EVENT_MAX);
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
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
  const waiting = (organisation: string) => database.db.collection('outbox').countDocuments({ organisation, state: 'waiting' });
  async function deliveriesOf(organisation: string, webhook: string): Promise<Delivery[]> {
    return stores.deliveries.list(organisation, webhook, { limit: SCANS * EVENTS_PER_SCAN + 1 });
  }

  it('deliver every event, in order for each scan, with one log entry for each attempt, whoever is killed', async () => {
    const organisations = ['acme', 'globex', 'initech'];
    const webhooks = new Map<string, string>();
    for (const organisation of organisations) webhooks.set(organisation, await webhookOf(organisation, `${receiver.url}/${organisation}`));
    let scans = 0;
    async function endScans(): Promise<void> {
      for (; scans < Math.min(SCANS, Math.floor(accepted.size / EVENTS_PER_SCAN) + BACKLOG); scans += 1) {
        const organisation = organisations[scans % organisations.length]!;
        await stores.deliveries.enqueue(eventsOf(webhooks.get(organisation)!, organisation, `scan-${scans}`));
      }
    }
    const total = SCANS * EVENTS_PER_SCAN;
    for (let kill = 1; kill <= KILLS; kill += 1) {
      await arriving('more was delivered', total, async () => {
        await endScans();
        return accepted.size >= (total * kill) / (KILLS + 1);
      });
      // While its request is under way.
      let underWay: Received | null = null;
      held = (received) => (underWay = received);
      await arriving('a request is under way', total, () => underWay !== null);
      const { headers } = underWay as unknown as Received;
      const at = senders.findIndex(({ pid }) => String(pid) === headers['user-agent']);
      await stop(senders.splice(at, 1)[0]!, 'SIGKILL');
      start();
    }
    const left = async () => (await Promise.all(organisations.map(waiting))).reduce((sum, count) => sum + count, 0);
    await arriving('everything is delivered', total, async () => {
      await endScans();
      return accepted.size === total && (await left()) === 0;
    });

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
    const events = (dead.length * scansOfEach + 1) * EVENTS_PER_SCAN;
    await arriving('they are tried', events, () => hanging.received.length >= dead.length);
    const healthy = await webhookOf('healthy', receiver.url);
    const before = hanging.received.length;
    await stores.deliveries.enqueue(eventsOf(healthy, 'healthy', 'one'));
    await arriving('they are delivered', events, async () => (await waiting('healthy')) === 0);
    // Without fairness, each delivery of the others would have been tried before.
    expect(hanging.received.length - before).to.be.below((dead.length * scansOfEach * EVENTS_PER_SCAN) / 2);
    for (const organisation of dead) expect(await waiting(organisation)).to.be.above(0);
  });
});
