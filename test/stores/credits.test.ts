import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { createCredits, type CreditMove } from '../../stores/credits/credits.ts';
import { openDatabase, useDatabase, useStore } from './database.ts';

const soon = (): Date => new Date(Date.now() + 30_000);
const failure = (promise: Promise<unknown>): Promise<unknown> => promise.then(() => null, (reason: unknown) => reason); // prettier-ignore

describe('credits', () => {
  const database = useDatabase();
  const credits = useStore(database, (db) => createCredits(db, { relayDelayMs: 5 }));
  let organisation: string;
  beforeEach(async () => {
    organisation = `org-${randomUUID().slice(0, 8)}`;
    await credits.open(organisation);
  });

  const hold = (scanId: string, pages: number, partial = false) =>
    credits.reserve({ organisation, scanId, pages, partial, deadline: soon() });

  it('opens an account once, and treats an organisation without an account as empty', async () => {
    await credits.grant(organisation, 'g1', 10);
    await Promise.all(Array.from({ length: 10 }, () => credits.open(organisation)));
    expect(await credits.balance(organisation)).to.deep.equal({ balance: 10, granted: 10, held: 0, spent: 0 });
    expect(await credits.balance('nobody')).to.deep.equal({ balance: 0, granted: 0, held: 0, spent: 0 });
    const request = { organisation: 'nobody', scanId: randomUUID(), pages: 1, partial: true, deadline: soon() };
    expect(await credits.reserve(request)).to.deep.equal({ ok: false, reason: 'insufficient_credits', balance: 0 });
    expect(await credits.settle('nobody', randomUUID(), 1)).to.deep.equal({ ok: false, reason: 'no_hold' });
  });

  it('opens an account with the first of several simultaneous grants', async () => {
    const fresh = `org-${randomUUID().slice(0, 8)}`;
    const granted = await Promise.all(Array.from({ length: 8 }, (_, n) => credits.grant(fresh, `g${n}`, 1)));
    expect(granted).to.deep.equal(Array.from({ length: 8 }, () => true));
    expect((await credits.balance(fresh)).granted).to.equal(8);
  });

  it('reserves all or nothing, or with `partial` as many as are available', async () => {
    await credits.grant(organisation, 'g', 7);
    const [a, b, c] = [randomUUID(), randomUUID(), randomUUID()];
    expect(await hold(a, 8)).to.deep.equal({ ok: false, reason: 'insufficient_credits', balance: 7 });
    expect(await hold(a, 5)).to.deep.equal({ ok: true, reserved: 5, balance: 2 });
    expect(await hold(b, 5, true)).to.deep.equal({ ok: true, reserved: 2, balance: 0 });
    expect(await hold(c, 5, true)).to.deep.equal({ ok: false, reason: 'insufficient_credits', balance: 0 });
    expect(await credits.balance(organisation)).to.deep.equal({ balance: 0, granted: 7, held: 7, spent: 0 });
    expect(await credits.holds(organisation)).to.have.deep.members([
      { scanId: a, pages: 5 },
      { scanId: b, pages: 2 },
    ]);
  });

  it('returns the existing hold for a repeated reserve, even without balance or after the deadline', async () => {
    await credits.grant(organisation, 'g', 5);
    const scanId = randomUUID();
    await hold(scanId, 5);
    expect(await hold(scanId, 5)).to.deep.equal({ ok: true, reserved: 5, balance: 0 });
    const late = { organisation, scanId, pages: 5, partial: false, deadline: new Date(Date.now() - 1000) };
    expect(await credits.reserve(late)).to.deep.equal({ ok: true, reserved: 5, balance: 0 });
  });

  it('rejects a reserve after its deadline, by the clock of the store', async () => {
    await credits.grant(organisation, 'g', 5);
    const late = { organisation, scanId: randomUUID(), pages: 5, partial: false, deadline: new Date(Date.now() - 1000) };
    expect(await credits.reserve(late)).to.deep.equal({ ok: false, reason: 'deadline_passed' });
    expect((await credits.balance(organisation)).held).to.equal(0);
  });

  it('never holds credits for more scans of an organisation than it may have, also if replicas reserve at once', async () => {
    await credits.grant(organisation, 'g', 100);
    const other = createCredits(database.another());
    const reserve = (scanId: string, of = credits) =>
      of.reserve({ organisation, scanId, pages: 1, partial: false, deadline: soon(), maxLive: 5 });
    const scanIds = Array.from({ length: 20 }, () => randomUUID());
    const reservations = await Promise.all(scanIds.map((scanId, index) => reserve(scanId, index % 2 === 0 ? credits : other)));
    const held = scanIds.filter((_, index) => reservations[index]!.ok);
    expect(held).to.have.lengthOf(5);
    expect(reservations.filter((one) => !one.ok && one.reason === 'too_many_live')).to.have.lengthOf(15);
    expect(await reserve(held[0]!), 'a repeated reserve').to.include({ ok: true, reserved: 1 });
    await credits.settle(organisation, held[0]!, 1);
    expect(await reserve(randomUUID())).to.include({ ok: true });
    expect(await reserve(randomUUID())).to.deep.equal({ ok: false, reason: 'too_many_live' });
  });

  it('settles once: spends the tested pages, never more than were held, and releases the rest', async () => {
    await credits.grant(organisation, 'g', 20);
    const [a, b, c] = [randomUUID(), randomUUID(), randomUUID()];
    await hold(a, 5);
    await hold(b, 5);
    await hold(c, 5);
    const earlier = { ok: false, reason: 'already_settled', spent: 3 };
    expect(await credits.settle(organisation, a, 3)).to.deep.equal({ ok: true, spent: 3, released: 2 });
    expect(await credits.settle(organisation, a, 5)).to.deep.equal(earlier);
    expect(await credits.settle(organisation, b, 50)).to.deep.equal({ ok: true, spent: 5, released: 0 });
    expect(await credits.settle(organisation, c, 0)).to.deep.equal({ ok: true, spent: 0, released: 5 });
    expect(await credits.settle(organisation, randomUUID(), 5)).to.deep.equal({ ok: false, reason: 'no_hold' });
    await credits.relay(organisation);
    await database.db.collection<{ _id: string }>('accounts').updateOne({ _id: organisation }, { $set: { ops: [] } });
    expect(await credits.settle(organisation, a, 5), 'by the ledger alone').to.deep.equal(earlier);
    expect(await credits.balance(organisation)).to.deep.equal({ balance: 12, granted: 20, held: 0, spent: 8 });
  });

  it('rejects a reserve for a settled scan, whether the settle is in the account or only in the ledger', async () => {
    await credits.grant(organisation, 'g', 20);
    const scanId = randomUUID();
    await hold(scanId, 5);
    await credits.settle(organisation, scanId, 5);
    expect(await hold(scanId, 5)).to.deep.equal({ ok: false, reason: 'deadline_passed' });
    await credits.relay(organisation);
    // Pruning does the same after some minutes.
    await database.db.collection<{ _id: string }>('accounts').updateOne({ _id: organisation }, { $set: { ops: [] } });
    expect(await hold(scanId, 5)).to.deep.equal({ ok: false, reason: 'deadline_passed' });
    expect((await credits.balance(organisation)).spent).to.equal(5);
  });

  it('states the balance after each entry, numbers the entries, and returns them in pages', async () => {
    const unrelayed = createCredits(database.db, { relayDelayMs: 3_600_000 });
    const reserve = (scanId: string, pages: number) =>
      unrelayed.reserve({ organisation, scanId, pages, partial: false, deadline: new Date(Date.now() + 60_000) });
    await unrelayed.grant(organisation, 'g', 20);
    const [a, b] = [randomUUID(), randomUUID()];
    await reserve(a, 5);
    await reserve(b, 4);
    await unrelayed.relay(organisation);
    await unrelayed.settle(organisation, a, 3);
    await unrelayed.grant(organisation, 'g', 20);
    await unrelayed.grant(organisation, 'h', 1);
    const expected = [
      { sequence: 5, id: 'grant:h', balance: 14 },
      { sequence: 4, id: `settle:${a}`, balance: 13 },
      { sequence: 3, id: `reserve:${b}`, balance: 11 },
      { sequence: 2, id: `reserve:${a}`, balance: 15 },
      { sequence: 1, id: 'grant:g', balance: 20 },
    ];
    const read = async (page: { before?: number; limit: number }) =>
      (await unrelayed.ledger(organisation, page)).map(({ sequence, id, balance }) => ({ sequence, id, balance }));
    // Three entries are in the ledger, and two only in the account. Then all are in the ledger.
    for (const relayed of [0, 2]) {
      expect(await read({ limit: 10 })).to.deep.equal(expected);
      expect(await read({ limit: 2 })).to.deep.equal(expected.slice(0, 2));
      expect(await read({ before: 4, limit: 2 })).to.deep.equal(expected.slice(2, 4));
      expect(await read({ before: 1, limit: 2 })).to.deep.equal([]);
      if (relayed === 0) expect(await unrelayed.relay(organisation), 'reading relays nothing').to.equal(2);
    }
    expect(await credits.ledger(`${organisation}-unknown`, { limit: 10 })).to.deep.equal([]);
  });

  it('returns one entry for each scan, whether or not it is settled, and wherever a part begins', async () => {
    const unrelayed = createCredits(database.db, { relayDelayMs: 3_600_000 });
    await unrelayed.grant(organisation, 'g', 100);
    const [a, b, c] = [randomUUID(), randomUUID(), randomUUID()];
    const hold = (scanId: string) =>
      unrelayed.reserve({ organisation, scanId, pages: 5, partial: false, deadline: new Date(Date.now() + 60_000) });
    for (const scanId of [a, b, c]) await hold(scanId);
    const read = async (page: { before?: number; limit: number }) =>
      (await unrelayed.ledger(organisation, { ...page, perScan: true })).map(({ id }) => id);
    const settle = async (scanId: string) => unrelayed.settle(organisation, scanId, 3);
    // The reserves are in the ledger, and the settles only in the account. Then all are in the ledger.
    for (const relay of [false, true]) {
      if (relay) await unrelayed.relay(organisation);
      expect(await read({ limit: 10 })).to.deep.equal([`reserve:${c}`, `reserve:${b}`, `reserve:${a}`, 'grant:g']);
    }
    await settle(a);
    await settle(c);
    for (const relay of [false, true]) {
      if (relay) await unrelayed.relay(organisation);
      expect(await read({ limit: 10 })).to.deep.equal([`settle:${c}`, `settle:${a}`, `reserve:${b}`, 'grant:g']);
      expect(await read({ limit: 3 })).to.deep.equal([`settle:${c}`, `settle:${a}`, `reserve:${b}`]);
      expect(await read({ before: 5, limit: 2 }), 'their settles are in the part before').to.deep.equal([`reserve:${b}`, 'grant:g']);
    }
    expect(await unrelayed.ledger(organisation, { limit: 10 })).to.have.length(6);
  });

  it('relays in the background, and removes relayed operations from the account', async () => {
    await credits.grant(organisation, 'g', 20);
    const scanIds = Array.from({ length: 5 }, () => randomUUID());
    for (const scanId of scanIds) await hold(scanId, 1);
    const deadline = Date.now() + 60_000;
    const ledger = database.db.collection('ledger');
    while ((await ledger.countDocuments({ organisation })) < 6 && Date.now() < deadline) await new Promise((next) => setTimeout(next, 10));
    expect(await ledger.countDocuments({ organisation })).to.equal(6);
    await credits.relay(organisation);
    await credits.settle(organisation, scanIds[0]!, 1);
    const account = await database.db.collection<{ _id: string; ops: { id: string }[] }>('accounts').findOne({ _id: organisation });
    expect(account!.ops.map((op) => op.id)).to.deep.equal([`settle:${scanIds[0]}`]);
  });

  it('calls onMove once per move, even if calls are repeated', async () => {
    const moves: CreditMove[] = [];
    const observed = createCredits(database.db, { relayDelayMs: 5, onMove: (move) => moves.push(move) });
    await observed.grant(organisation, 'g', 20);
    const [part, over, none] = [randomUUID(), randomUUID(), randomUUID()];
    for (const scanId of [part, part, over]) await observed.reserve({ organisation, scanId, pages: 5, partial: false, deadline: soon() });
    await observed.reserve({ organisation, scanId: none, pages: 50, partial: false, deadline: soon() });
    for (const [scanId, pages] of [
      [part, 2],
      [part, 2],
      [over, 9],
      [none, 0],
    ] as const)
      await observed.settle(organisation, scanId, pages);
    expect(moves).to.deep.equal([
      { operation: 'reserve', pages: 5 },
      { operation: 'reserve', pages: 5 },
      { operation: 'settle', pages: 2, released: 3 },
      { operation: 'settle', pages: 5, released: 0 },
    ]);
  });

  it('rejects amounts that are not positive integers, and ids that address other fields', async () => {
    for (const pages of [0, -1, 1.5, NaN, 2 ** 60]) expect(await failure(hold(randomUUID(), pages))).to.be.instanceOf(RangeError);
    for (const scanId of ['', 'a.b', '$where', 'x'.repeat(65)]) expect(await failure(hold(scanId, 1))).to.be.instanceOf(RangeError);
    expect(await failure(credits.settle(organisation, randomUUID(), -1))).to.be.instanceOf(RangeError);
    expect(await failure(credits.grant(organisation, 'g', -5))).to.be.instanceOf(RangeError);
  });

  it('takes a grant id literally, even if it looks like an expression', async () => {
    expect(await credits.grant(organisation, '$granted', 5)).to.equal(true);
    expect(await credits.grant(organisation, '$granted', 5)).to.equal(false);
    expect((await credits.ledger(organisation, { limit: 1 }))[0]!.id).to.equal('grant:$granted');
  });

  it('fails closed if the database is down', async () => {
    const other = await openDatabase();
    const lost = createCredits(other.db);
    await other.close();
    expect(
      await failure(lost.reserve({ organisation, scanId: randomUUID(), pages: 1, partial: false, deadline: soon() })),
    ).to.be.instanceOf(Error);
  });
});
