import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { ANONYMOUS } from '../../core/organisation.ts';
import { createCredits, type CreditMove, type Credits } from '../../stores/credits/credits.ts';
import { useDatabase } from './database.ts';

describe('credits of public scans', () => {
  const database = useDatabase();
  let credits: Credits;
  let moves: CreditMove[];

  beforeEach(async () => {
    await database.db.collection('accounts').deleteMany({});
    moves = [];
    credits = createCredits(database.db, { relayDelayMs: 5, onMove: (move) => moves.push(move) });
  });

  const reserve = (scanId: string, maxLive?: number, of = credits) =>
    of.reserve({ organisation: ANONYMOUS, scanId, pages: 1, partial: false, deadline: new Date(Date.now() + 30_000), maxLive });
  const holds = async () => (await credits.holds(ANONYMOUS)).map(({ scanId }) => scanId);

  it('are reserved without an account or a grant, once per scan', async () => {
    const scanId = randomUUID();
    for (const _ of [1, 2]) expect(await reserve(scanId)).to.deep.equal({ ok: true, reserved: 1, balance: 0 });
    expect(await credits.holds(ANONYMOUS)).to.deep.equal([{ scanId, pages: 1 }]);
    expect(await credits.allHolds()).to.deep.equal([{ organisation: ANONYMOUS, scanId, pages: 1 }]);
    expect(await credits.balance(ANONYMOUS)).to.deep.equal({ balance: 0, granted: 1, held: 1, spent: 0 });
  });

  it('are settled as spent or released, and a repeated settle does not count as uncharged', async () => {
    const [tested, failed] = [randomUUID(), randomUUID()];
    await reserve(tested);
    await reserve(failed);
    expect(await credits.settle(ANONYMOUS, tested, 1)).to.deep.equal({ ok: true, spent: 1, released: 0 });
    expect(await credits.settle(ANONYMOUS, failed, 0)).to.deep.equal({ ok: true, spent: 0, released: 1 });
    expect(await holds()).to.deep.equal([]);
    expect(await credits.balance(ANONYMOUS)).to.deep.equal({ balance: 0, granted: 1, held: 0, spent: 1 });
    for (const scanId of [tested, randomUUID()])
      expect(await credits.settle(ANONYMOUS, scanId, 1)).to.deep.equal({ ok: false, reason: 'already_settled', spent: 1 });
  });

  it('may be settled before anything was reserved', async () => {
    expect(await credits.settle(ANONYMOUS, randomUUID(), 0)).to.deep.equal({ ok: false, reason: 'already_settled', spent: 0 });
  });

  it('have holds for at most `maxLive` scans, also of simultaneous requests to two replicas', async () => {
    const other = createCredits(database.another());
    const reserved = await Promise.all(Array.from({ length: 20 }, (_, n) => reserve(randomUUID(), 7, n % 2 === 0 ? credits : other)));
    expect(reserved.filter(({ ok }) => ok)).to.have.length(7);
    expect(reserved.find(({ ok }) => !ok)).to.deep.equal({ ok: false, reason: 'too_many_live' });
    await credits.settle(ANONYMOUS, (await holds())[0]!, 1);
    expect((await reserve(randomUUID(), 7)).ok).to.equal(true);
  });

  it('leave no trace in the ledger and in the metrics of credits', async () => {
    const scanId = randomUUID();
    await reserve(scanId);
    await credits.settle(ANONYMOUS, scanId, 1);
    expect(await credits.relay()).to.equal(0);
    expect(await credits.ledger(ANONYMOUS, { before: null, limit: 10 })).to.deep.equal([]);
    expect(moves).to.deep.equal([]);
  });
});
