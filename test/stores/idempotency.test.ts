import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { createIdempotency, type Idempotency, type OwnedClaim } from '../../stores/submissions/idempotency.ts';
import { useDatabase, useStore } from './database.ts';

describe('idempotency keys', () => {
  const database = useDatabase();
  const idempotency = useStore(database, createIdempotency);
  let key: string;
  beforeEach(() => {
    key = randomUUID();
  });

  const claim = (over: Partial<Parameters<Idempotency['claim']>[0]> = {}) =>
    idempotency.claim({ organisation: 'acme', key, fingerprint: 'body', resourceId: randomUUID(), leaseSeconds: 30, ...over });
  /** Claims a key that is free. */
  async function own(over: Parameters<typeof claim>[0] = {}): Promise<OwnedClaim> {
    const claimed = await claim(over);
    if (!claimed.ok) throw new Error(`the key is ${claimed.reason}`);
    return claimed.claim;
  }
  const reused = { ok: false, reason: 'reused' };
  /** Changes a stored claim. */
  const set = (fields: object) =>
    database.db.collection<{ _id: string }>('idempotency').updateOne({ _id: `acme/${key}` }, { $set: fields });
  const past = (): Date => new Date(Date.now() - 1000);

  it('lets one request claim a key, and names its scan and the rest of its lease to the others', async () => {
    const resourceId = randomUUID();
    expect(await own({ resourceId })).to.deep.include({ organisation: 'acme', key, resourceId, takenOver: false });
    const other = await claim();
    expect(other).to.deep.include({ ok: false, reason: 'held', resourceId });
    expect((other as { leaseMs: number }).leaseMs).to.be.within(1, 30_000);
    expect(await claim({ fingerprint: 'other' })).to.deep.equal(reused);
  });

  it('separates organisations', async () => {
    expect((await claim()).ok).to.equal(true);
    expect((await claim({ organisation: 'globex' })).ok).to.equal(true);
  });

  it('can be claimed with another body and for another scan after it was removed', async () => {
    await idempotency.remove(await own());
    const resourceId = randomUUID();
    expect(await own({ fingerprint: 'other', resourceId })).to.include({ resourceId, takenOver: false });
  });

  for (const end of ['its lease', 'a release'] as const)
    it(`is taken over with its scan after the end of ${end}, only with the same body`, async () => {
      const first = await own();
      await (end === 'a release' ? idempotency.release(first) : set({ leaseUntil: past() }));
      expect(await claim({ fingerprint: 'other' })).to.deep.equal(reused);
      expect(await own()).to.include({ resourceId: first.resourceId, takenOver: true });
      expect((await claim()).ok).to.equal(false);
    });

  it('names its scan for good once it was taken over', async () => {
    const first = await own();
    await idempotency.release(first);
    await idempotency.remove(await own());
    expect(await claim({ fingerprint: 'other' })).to.deep.equal(reused);
    expect(await own()).to.include({ resourceId: first.resourceId, takenOver: true });
  });

  it('is not changed by a slow request after another one has taken it over', async () => {
    const slow = await own();
    await set({ leaseUntil: past() });
    const second = await own();
    await idempotency.remove(slow);
    await idempotency.release(slow);
    expect(await idempotency.restart(slow, randomUUID())).to.equal(null);
    expect(await claim()).to.deep.include({ ok: false, reason: 'held', resourceId: second.resourceId });
  });

  it('gets another scan once, if the first one was abandoned', async () => {
    await idempotency.release(await own());
    const claimed = await own();
    const resourceId = randomUUID();
    const restarted = await idempotency.restart(claimed, resourceId);
    expect(restarted).to.deep.equal({ ...claimed, resourceId });
    expect(await idempotency.restart(claimed, randomUUID())).to.equal(null);
    await idempotency.release(restarted!);
    expect(await own()).to.include({ resourceId, takenOver: true });
  });

  it('keeps the response of a request, is not taken over any more, and forgets the response when it expires', async () => {
    const first = await own();
    const { resourceId } = first;
    const repetition = { status: 201, headers: { location: '/v1/x' }, body: '$response' };
    await idempotency.complete(first, repetition);
    await idempotency.release({ ...first, holder: randomUUID() });
    expect(await claim({ leaseSeconds: 0 })).to.deep.include({ ok: false, reason: 'held', resourceId, repetition });
    expect(await claim({ fingerprint: 'other' })).to.deep.equal(reused);
    await set({ expiresAt: past() });
    await idempotency.release(await own());
    expect(await own()).to.include({ takenOver: true });
    expect(await claim()).to.deep.include({ reason: 'held', repetition: null });
  });

  it('is deleted with the scan whose address the response names, and is not about that scan once it was claimed anew', async () => {
    const about = async (scan?: string) =>
      idempotency.complete(await own(), { status: 202, headers: {}, body: 'x', ...(scan && { scan }) });
    await about('deleted');
    const named = key;
    await set({ expiresAt: past() });
    await own();
    key = randomUUID();
    await about('kept');
    key = randomUUID();
    await about();
    const other = key;
    key = randomUUID();
    await about('deleted');
    await idempotency.removeOf('deleted');
    expect(await claim(), 'deleted').to.deep.include({ ok: true });
    for (key of [named, other]) expect(await claim(), 'kept').to.include({ ok: false, reason: 'held' });
  });

  it('does not keep the response of a request whose claim was taken over', async () => {
    const slow = await own();
    await set({ leaseUntil: past() });
    await own();
    await idempotency.complete(slow, { secretOf: 'late' });
    expect(await claim()).to.deep.include({ reason: 'held', repetition: null });
  });

  it('expires after 24 hours', async () => {
    await idempotency.release(await own());
    await own();
    const stored = await database.db.collection<{ _id: string; expiresAt: Date }>('idempotency').findOne({ _id: `acme/${key}` });
    expect(stored!.expiresAt.getTime() - Date.now()).to.be.within(24 * 3600_000 - 60_000, 24 * 3600_000 + 60_000);
    await set({ expiresAt: past() });
    const resourceId = randomUUID();
    expect(await own({ fingerprint: 'other', resourceId })).to.include({ resourceId, takenOver: false });
  });

  it('is claimed by one of many simultaneous requests to two replicas', async () => {
    const other = createIdempotency(database.another());
    for (let round = 0; round < 10; round += 1) {
      const shared = { organisation: 'acme', key: randomUUID(), fingerprint: 'body', leaseSeconds: 30 };
      const claims = await Promise.all(
        Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? idempotency : other).claim({ ...shared, resourceId: randomUUID() })),
      );
      expect(claims.filter(({ ok }) => ok)).to.have.length(1);
      expect(claims.filter((one) => !one.ok && one.reason === 'held')).to.have.length(9);
    }
  });

  it('accepts keys with any characters', async () => {
    for (const odd of ['$where', 'a.b/c', 'ż'.repeat(255), '{"$gt":""}']) {
      key = odd;
      expect((await claim({ fingerprint: '$fingerprint' })).ok).to.equal(true);
      expect(await claim({ fingerprint: '$fingerprint' })).to.include({ ok: false, reason: 'held' });
    }
  });
});
