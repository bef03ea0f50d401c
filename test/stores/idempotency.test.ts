import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { createIdempotency, type Idempotency } from '../../stores/submissions/idempotency.ts';
import { openDatabase, type TestDatabase } from './database.ts';

const answer = { status: 202, headers: { location: '/v1/ci/scans/1' }, body: { scan_id: '1', 'a.b': { $set: null } } };

describe('idempotency keys', () => {
  let database: TestDatabase;
  let idempotency: Idempotency;
  let key: string;

  before(async () => {
    database = await openDatabase();
    idempotency = createIdempotency(database.db);
  });
  after(() => database.close());
  beforeEach(() => {
    key = randomUUID();
  });

  const claim = (over: Partial<Parameters<Idempotency['claim']>[0]> = {}) =>
    idempotency.claim({ organisation: 'acme', key, fingerprint: 'body', scanId: randomUUID(), leaseSeconds: 30, ...over });
  /** Changes a stored claim. */
  const set = (fields: object) =>
    database.db.collection<{ _id: string }>('idempotency').updateOne({ _id: `acme/${key}` }, { $set: fields });
  const past = (): Date => new Date(Date.now() - 1000);

  it('lets one request claim a key, and returns its answer to every repeat', async () => {
    const scanId = randomUUID();
    expect(await claim({ scanId })).to.deep.include({ ok: true, scanId });
    expect(await claim()).to.deep.equal({ ok: false, reason: 'in_progress' });
    await idempotency.complete('acme', key, answer);
    expect(await claim()).to.deep.equal({ ok: false, reason: 'answered', answer });
  });

  it('rejects another body, both in progress and answered', async () => {
    await claim();
    expect(await claim({ fingerprint: 'other' })).to.deep.equal({ ok: false, reason: 'reused' });
    await idempotency.complete('acme', key, answer);
    expect(await claim({ fingerprint: 'other' })).to.deep.equal({ ok: false, reason: 'reused' });
  });

  it('separates organisations', async () => {
    expect((await claim()).ok).to.equal(true);
    expect((await claim({ organisation: 'globex' })).ok).to.equal(true);
  });

  it('can be claimed again after a release, but not after an answer', async () => {
    await claim();
    await idempotency.release('acme', key);
    expect((await claim({ fingerprint: 'other' })).ok).to.equal(true);
    await idempotency.complete('acme', key, answer);
    await idempotency.release('acme', key);
    expect(await claim({ fingerprint: 'other' })).to.deep.equal({ ok: false, reason: 'answered', answer });
  });

  it('is taken over from a dead holder with the first scan id, only with the same body', async () => {
    const scanId = randomUUID();
    const first = await claim({ scanId });
    await set({ leaseUntil: past() });
    expect(await claim({ fingerprint: 'other' })).to.deep.equal({ ok: false, reason: 'reused' });
    const second = await claim();
    expect(second).to.deep.include({ ok: true, scanId });
    expect(await claim()).to.deep.equal({ ok: false, reason: 'in_progress' });

    // The first holder was slow, not dead. It must not change the claim any more.
    const holder = (taken: typeof first): string => (taken as { holder: string }).holder;
    await idempotency.release('acme', key, holder(first));
    await idempotency.complete('acme', key, { ...answer, status: 500 }, holder(first));
    expect(await claim()).to.deep.equal({ ok: false, reason: 'in_progress' });
    await idempotency.complete('acme', key, answer, holder(second));
    expect(await claim()).to.deep.equal({ ok: false, reason: 'answered', answer });
  });

  it('expires after 24 hours', async () => {
    await claim();
    await idempotency.complete('acme', key, answer);
    const stored = await database.db.collection<{ _id: string; expiresAt: Date }>('idempotency').findOne({ _id: `acme/${key}` });
    expect(stored!.expiresAt.getTime() - Date.now()).to.be.within(24 * 3600_000 - 60_000, 24 * 3600_000 + 60_000);
    await set({ expiresAt: past() });
    const scanId = randomUUID();
    expect(await claim({ fingerprint: 'other', scanId })).to.deep.include({ ok: true, scanId });
  });

  it('is claimed by one of many simultaneous requests to two replicas', async () => {
    const other = createIdempotency(database.another());
    for (let round = 0; round < 10; round += 1) {
      const shared = { organisation: 'acme', key: randomUUID(), fingerprint: 'body', leaseSeconds: 30 };
      const claims = await Promise.all(
        Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? idempotency : other).claim({ ...shared, scanId: randomUUID() })),
      );
      expect(claims.filter(({ ok }) => ok)).to.have.length(1);
      expect(claims.filter((one) => !one.ok && one.reason === 'in_progress')).to.have.length(9);
    }
  });

  it('accepts keys with any characters', async () => {
    for (const odd of ['$where', 'a.b/c', 'ż'.repeat(255), '{"$gt":""}']) {
      key = odd;
      expect((await claim({ fingerprint: '$fingerprint' })).ok).to.equal(true);
      expect(await claim({ fingerprint: '$fingerprint' })).to.deep.equal({ ok: false, reason: 'in_progress' });
    }
  });
});
