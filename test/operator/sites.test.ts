/** The task that keeps the list of sites. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { contextOf } from '../support/operator-context.ts';
import { sitesTask } from '../../operator/maintenance/ended-scans.ts';
import { withDefaults } from '../../core/scan/options.ts';
import { openStores } from '../../stores/stores.ts';
import { useDatabase, useStore } from '../stores/database.ts';
import { scanRow } from '../support/scan-rows.ts';

describe('operator: the list of sites', () => {
  const stores = useStore(useDatabase(), openStores);

  async function endedScan(organisation: string, host: string, submittedBy?: string): Promise<string> {
    const { id } = await stores.scans.create(
      scanRow({ organisation, submission: 'accepted', options: withDefaults({ url: `https://${host}/` }), submittedBy }),
    );
    await stores.scans.mirror(id, { phase: 'failed', finishedAt: new Date() });
    return id;
  }

  it('gets every ended scan, in batches of any size, and again after a crash before the marks were removed', async () => {
    const organisation = randomUUID();
    const hosts = Array.from({ length: 5 }, (_, at) => `s${at}.example`);
    const ids = await Promise.all(hosts.map((host) => endedScan(organisation, host)));
    const listed = async () => (await stores.sites.search(organisation, { limit: 9 })).sites.map(({ groups }) => groups[0]!.scan).sort();
    const scans = { ...stores.scans, listed: () => Promise.reject(new Error('it stopped')) };
    const crash = sitesTask(contextOf({ stores: { ...stores, scans } }), 2);
    await crash.run(new AbortController().signal).then(
      () => expect.fail('it did not stop'),
      () => undefined,
    );
    expect(await listed()).to.have.length(2);
    await sitesTask(contextOf({ stores }), 2).run(new AbortController().signal);
    expect(await listed()).to.deep.equal(ids.toSorted());
    expect(await stores.scans.unlisted(9)).to.deep.equal([]);
  });

  it('is written with the lost entry of who started a scan', async () => {
    const organisation = randomUUID();
    const id = await endedScan(organisation, 'started.example', 'ann@example.com');
    await endedScan(organisation, 'manifest.example');
    await sitesTask(contextOf({ stores })).run(new AbortController().signal);
    const started = await stores.organisations.audit(organisation, 9);
    expect(started.map(({ actor, subject }) => [actor, subject])).to.deep.equal([['ann@example.com', `started.example ${id}`]]);
  });

  it('gets no scan that is erased while it is recorded, and keeps the one before it', async () => {
    const organisation = randomUUID();
    const [before, shared, alone] = [
      await endedScan(organisation, 'shared.example'),
      await endedScan(organisation, 'shared.example'),
      await endedScan(organisation, 'alone.example'),
    ];
    const unlisted = async (limit: number) => {
      const rows = await stores.scans.unlisted(limit);
      for (const id of [shared, alone]) await stores.scans.erase(organisation, id);
      return rows;
    };
    await sitesTask(contextOf({ stores: { ...stores, scans: { ...stores.scans, unlisted } } })).run(new AbortController().signal);
    expect((await stores.sites.search(organisation, { limit: 9 })).sites.map(({ groups }) => groups[0]!.scan)).to.deep.equal([before]);
  });
});
