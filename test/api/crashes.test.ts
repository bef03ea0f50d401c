/**
 * A replica crashes between any two steps of a submission. The sweeper or the repeated request completes or undoes the
 * submission, in either order, so that in the end exactly the credits of the scans that will run are held.
 */
import { expect } from 'chai';
import { GROUP, SCANS_PLURAL, VERSION } from '../../core/protocol/custom-resources.ts';
import { createScanResources } from '../../stores/submissions/scan-resources.ts';
import { sweepOnce } from '../support/sweep-once.ts';
import { NAMESPACE } from './stack.ts';
import { crashAfter, useContext, SUBMISSION } from './context.ts';

const SCANS = { group: GROUP, version: VERSION, plural: SCANS_PLURAL };

const STEPS = ['idempotency.claim', 'queueStates.read', 'scans.create', 'credits.reserve', 'scanResources.submit', 'scans.accept'];

describe('a replica that crashes', () => {
  const context = useContext({ dependencyTimeoutMs: 60_000 });

  const resources = () => createScanResources(context.kubernetes, { namespace: NAMESPACE });
  const sweepNow = () =>
    sweepOnce({ ...context.stores, exists: (row) => resources().exists(row), pendingBefore: new Date(Date.now() + 1000), limit: 100 });

  const submit = (key: string, signal?: AbortSignal) =>
    context.request('POST', '/v1/ci/scans', { key, body: SUBMISSION, headers: { 'Idempotency-Key': 'build' }, signal });
  const crash = (step: string, key: string) => crashAfter(context, step, (signal) => submit(key, signal));
  const expireLeases = () => context.db.collection('idempotency').updateMany({}, { $set: { leaseUntil: new Date(0) } });

  /** Every hold belongs to an accepted scan that has a resource, and every such scan has its hold. */
  async function expectExact(organisation: string, scans: number): Promise<void> {
    const rows = await context.db
      .collection('scans')
      .find({ organisation, submission: { $ne: 'abandoned' } })
      .toArray();
    expect(rows.map(({ submission }) => submission as string)).to.deep.equal(Array.from({ length: scans }, () => 'accepted'));
    for (const row of rows)
      expect(await resources().exists({ resource: row.resource as { namespace: string; name: string } })).to.equal(true);
    const holds = await context.stores.credits.holds(organisation);
    expect(holds.map(({ scanId }) => scanId)).to.have.members(rows.map(({ _id }) => String(_id)));
    const { balance, held, spent } = await context.stores.credits.balance(organisation);
    expect({ balance, held, spent }).to.deep.equal({ balance: 20 - 5 * scans, held: 5 * scans, spent: 0 });
  }

  for (const step of STEPS) {
    it(`after ${step}, without a repeated request`, async () => {
      const { id, key } = await context.organisation({ credits: 20 });
      await crash(step, key);
      await sweepNow();
      await expectExact(id, STEPS.indexOf(step) >= STEPS.indexOf('scanResources.submit') ? 1 : 0);
    });

    it(`after ${step}, with the repeated request before the sweeper`, async () => {
      const { id, key } = await context.organisation({ credits: 20 });
      await crash(step, key);
      await expireLeases();
      expect((await submit(key)).status).to.equal(202);
      await sweepNow();
      await expectExact(id, 1);
    });

    it(`after ${step}, with the sweeper before the repeated request`, async () => {
      const { id, key } = await context.organisation({ credits: 20 });
      await crash(step, key);
      await sweepNow();
      await expireLeases();
      // An abandoned scan is not resumed: the repeated request submits another one.
      const first = await submit(key);
      expect(first.status).to.equal(202);
      const second = await submit(key);
      expect([second.status, second.text]).to.deep.equal([202, first.text]);
      await sweepNow();
      await expectExact(id, 1);
    });
  }

  it('before it answers, and the scan ends meanwhile: the repeated request returns that scan and starts no other', async () => {
    const { id, key } = await context.organisation({ credits: 20 });
    await crash('scans.accept', key);
    const [row] = await context.db.collection<{ _id: string }>('scans').find({ organisation: id }).toArray();
    const scanId = row!._id;
    await context.stores.scans.mirror(scanId, { phase: 'done', finishedAt: new Date() });
    await context.stores.credits.settle(id, scanId, 3);
    const path = context.kubernetes.path(SCANS, NAMESPACE, `scan-${scanId}`);
    // As the operator does when it has settled the scan.
    await context.kubernetes.request('PATCH', path, {
      contentType: 'application/merge-patch+json',
      body: { metadata: { finalizers: [] } },
    });
    await context.kubernetes.request('DELETE', path);
    await expireLeases();
    const repeat = await submit(key);
    expect([repeat.status, repeat.body.scan_id, repeat.headers.get('idempotent-replayed')]).to.deep.equal([202, scanId, 'true']);
    expect(await resources().exists({ resource: { namespace: NAMESPACE, name: `scan-${scanId}` } })).to.equal(false);
    expect(await context.stores.credits.balance(id)).to.include({ balance: 17, held: 0, spent: 3 });
  });
});
