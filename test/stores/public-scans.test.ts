import { randomBytes, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { createPublicScans, type PublicScan } from '../../stores/scans/public-scans.ts';
import { useDatabase, useStore } from './database.ts';

const DAY_MS = 86_400_000;

/** The network of the visitors. */
const NETWORK = '192.0.2.1';

describe('public scans', () => {
  const database = useDatabase();
  const publicScans = useStore(database, (db) => createPublicScans(db, () => now));
  let now: Date;
  beforeEach(async () => {
    now = new Date('2054-01-01T00:00:00Z');
    await database.db.collection('public_scans').deleteMany({});
  });

  const scan = (over: Partial<PublicScan> = {}): PublicScan => ({
    token: randomBytes(32).toString('base64url'),
    scanId: randomUUID(),
    url: 'https://example.com/',
    email: 'ada@example.com',
    locale: 'fr',
    createdAt: now,
    expiresAt: new Date(now.getTime() + 30 * DAY_MS),
    ...over,
  });
  async function stored(over: Partial<PublicScan> = {}): Promise<PublicScan> {
    const one = scan(over);
    expect(await publicScans.claim(one, NETWORK)).to.deep.equal({ ok: true });
    return one;
  }
  async function unmailed(): Promise<PublicScan[]> {
    const found: PublicScan[] = [];
    for await (const one of publicScans.unmailed()) found.push(one);
    return found;
  }

  it('are found by token and by scan until they expire', async () => {
    const one = await stored();
    expect(await publicScans.findByToken(one.token)).to.deep.equal(one);
    expect(await publicScans.findByScan(one.scanId)).to.deep.equal(one);
    expect(await publicScans.findByToken(`${one.token}x`)).to.equal(null);
    now = one.expiresAt;
    expect(await publicScans.findByToken(one.token)).to.equal(null);
    expect(await publicScans.findByScan(one.scanId)).to.equal(null);
  });

  it('are shared by a link of their own, until it is taken back or the result expires', async () => {
    const one = await stored();
    const [first, second] = await Promise.all([publicScans.share(one.token), publicScans.share(one.token)]);
    const share = first!.share!;
    expect(second!.share, 'of simultaneous requests').to.equal(share);
    expect(share).to.not.equal(one.token);
    expect(await publicScans.findByShare(share)).to.deep.equal({ ...one, share });
    expect([await publicScans.findByToken(share), await publicScans.findByShare(one.token)], 'not each other').to.deep.equal([null, null]);
    await publicScans.unshare(one.token);
    await publicScans.unshare(one.token);
    expect(await publicScans.findByShare(share)).to.equal(null);
    const again = (await publicScans.share(one.token))!.share!;
    expect(again, 'a link that was taken back never comes back').to.not.equal(share);
    now = one.expiresAt;
    expect([await publicScans.findByShare(again), await publicScans.share(one.token)]).to.deep.equal([null, null]);
    expect([await publicScans.share('x'), await publicScans.findByShare('x')], 'malformed').to.deep.equal([null, null]);
  });

  it('are removed with the e-mail address after they have expired, and not before', async () => {
    const one = await stored();
    const later = await stored({ email: 'bob@example.com', expiresAt: new Date(now.getTime() + 31 * DAY_MS) });
    now = new Date(one.expiresAt.getTime() - 1);
    expect(await publicScans.removeExpired()).to.equal(0);
    now = one.expiresAt;
    expect(await publicScans.removeExpired()).to.equal(1);
    expect(await database.db.collection('public_scans').find().toArray())
      .to.have.length(1)
      .with.nested.property('[0]._id', later.token);
  });

  it('claim their URL and e-mail address for a network, in any case of the letters', async () => {
    const one = await stored();
    expect(await publicScans.claim(scan({ email: 'ADA@Example.com' }), NETWORK)).to.deep.equal({ ok: false, reason: 'claimed', by: one });
    expect(await publicScans.claim(scan(), '192.0.2.2'), 'of another network').to.deep.equal({ ok: true });
    await stored({ email: 'ada+tag@example.com' });
    await stored({ url: 'https://example.com/other' });
    await publicScans.releaseClaim(one.token);
    expect(await publicScans.findByToken(one.token), 'the token still works').to.deep.equal(one);
    await stored();
  });

  it('may repeat their own claim', async () => {
    const one = await stored();
    expect(await publicScans.claim(one, NETWORK)).to.deep.equal({ ok: true });
  });

  it('free their URL when they are removed', async () => {
    const one = await stored();
    await publicScans.remove(one.token);
    expect(await publicScans.findByToken(one.token)).to.equal(null);
    await stored();
  });

  it('are claimed by one of many simultaneous requests to two replicas', async () => {
    const other = createPublicScans(database.another());
    for (let round = 0; round < 5; round += 1) {
      const email = `${round}@example.com`;
      const claims = await Promise.all(
        Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? publicScans : other).claim(scan({ email, scanId: randomUUID() }), NETWORK)),
      );
      expect(claims.filter(({ ok }) => ok)).to.have.length(1);
    }
  });

  it('are unmailed, oldest first, until their mail is queued', async () => {
    const second = await stored({ email: 'b@example.com', createdAt: new Date(now.getTime() + 1) });
    const first = await stored({ email: 'a@example.com' });
    expect(await unmailed()).to.deep.equal([first, second]);
    await publicScans.markMailed(first.token);
    await publicScans.markMailed(first.token);
    expect(await unmailed()).to.deep.equal([second]);
    expect(await publicScans.findByToken(first.token)).to.deep.equal(first);
  });
});
