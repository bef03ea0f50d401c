/** Which delivery of a webhook is claimed, and what is stored once. */
import { expect } from 'chai';
import { openStores, type AllStores } from '../../stores/stores.ts';
import { useDatabase } from './database.ts';

const LEASE_MS = 60_000;
const ANY = { priority: 'webhook' } as const;

describe('deliveries of webhooks', () => {
  const database = useDatabase();
  let stores: AllStores;
  beforeEach(async () => {
    await database.db.collection('outbox').deleteMany({});
    stores = openStores(database.db);
  });

  const delivery = (webhook: string, event: string, order = 0) => {
    const about = { organisation: 'acme', type: 'scan.completed', scan: event, body: '{}' } as const;
    return { ...about, webhook, event: `${event}/${order}`, order };
  };

  it('says which of several deliveries it has stored', async () => {
    await stores.deliveries.enqueue([delivery('a', 'one')]);
    const stored = await stores.deliveries.enqueue([delivery('a', 'zero'), delivery('a', 'one'), delivery('a', 'two')]);
    expect(stored.map(({ added }) => added)).to.deep.equal([true, false, true]);
    expect((await stores.deliveries.enqueue([delivery('a', 'one')])).map(({ added }) => added)).to.deep.equal([false]);
  });

  it('claims for the first endpoint of a list that has one due, however old those of the others are', async () => {
    for (const webhook of ['a', 'b', 'c']) await stores.deliveries.enqueue([delivery(webhook, 'one')]);
    const claimed = async (onlyKeys: string[]) => (await stores.outbox.claim({ ...ANY, onlyKeys }, LEASE_MS))?.entry.fairnessKey ?? null;
    expect(await claimed(['idle', 'c', 'a'])).to.equal('c');
    expect(await claimed(['idle', 'c', 'a'])).to.equal('a');
    expect(await claimed(['idle', 'c', 'a'])).to.equal(null);
  });

  it('stores one replay for a key, which no later event of its scan waits for', async () => {
    const { deliveries, outbox } = stores;
    const [first] = await deliveries.enqueue([delivery('a', 'scan')]);
    await outbox.end((await outbox.claim(ANY, LEASE_MS))!, 'delivered', {
      durationMs: 1,
      statusCode: 200,
      error: null,
      response: '',
    });
    const replays = await Promise.all(['x', 'x', 'y'].map((key) => deliveries.replay('acme', 'a', first!.id, key)));
    expect(replays.map((replay) => replay!.message)).to.deep.equal([first!.id, first!.id, first!.id]);
    expect(replays[0]!.id).to.equal(replays[1]!.id).and.not.equal(replays[2]!.id);
    expect(await deliveries.list('acme', 'a', { limit: 10 })).to.have.lengthOf(3);
    // The replays are claimed, and wait until they are retried.
    for (const _ of [1, 2]) await outbox.claim(ANY, LEASE_MS);
    const [regressed] = await deliveries.enqueue([delivery('a', 'scan', 1)]);
    expect((await outbox.claim(ANY, LEASE_MS))?.entry._id).to.equal(regressed!.id);
  });
});
