/** The pages of sites over HTTP: organisations, and how many commands a page sends to MongoDB. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { withDefaults } from '../../core/scan/options.ts';
import { type ScanDocument, type ScanRow, toDocument } from '../../stores/scans/scan-row.ts';
import { SITE_GROUPS_MAX } from '../../stores/scans/sites.ts';
import { scanRow } from '../support/scan-rows.ts';
import { showCount } from '../support/counts.ts';
import { useContext } from './context.ts';
import { signedIn } from './people.ts';

describe('the dashboard of sites', () => {
  const context = useContext({ queueCacheMs: 60_000 });

  it('shows no site of another organisation, and 404 for one that does not exist', async () => {
    const { client, organisation } = await signedIn(context);
    const { optionsKey } = await context.scan((await context.organisation()).id, {
      phase: 'done',
      options: withDefaults({ url: 'https://theirs.example/' }),
    });
    await context.scan(organisation, { phase: 'failed', options: withDefaults({ url: 'https://ours.example:8443/' }) });
    expect((await client.get('/dashboard')).text)
      .to.include('ours.example')
      .and.not.include('theirs.example');
    for (const path of ['theirs.example', `theirs.example/${optionsKey}`, 'ours.example%3A8443/0000000000000000', '%00'])
      expect((await client.get(`/dashboard/sites/${path}`)).status, path).to.equal(404);
    expect((await client.get('/dashboard/sites/OURS.example%3A8443')).status).to.equal(200);
  });

  it('has a page for each group of options that is listed, however many the host has', async () => {
    const { client, organisation } = await signedIn(context);
    const rows: ScanRow[] = [];
    for (let maxPages = 1; maxPages <= SITE_GROUPS_MAX + 1; maxPages += 1)
      rows.push(
        await context.scan(organisation, {
          phase: 'done',
          createdAt: new Date(Date.now() + maxPages * 1_000),
          options: withDefaults({ url: 'https://many.example/', maxPages }),
        }),
      );
    for (const { optionsKey, options } of [rows[0]!, rows.at(-1)!]) {
      const { status, text } = await client.get(`/dashboard/sites/many.example/${optionsKey}`);
      expect([status, text.includes(`Up to ${options.maxPages} page`)]).to.deep.equal([200, true]);
    }
  });

  it('shows the newest result of a site while the scan after it was removed', async () => {
    const { client, organisation } = await signedIn(context);
    const options = withDefaults({ url: 'https://gone.example/' });
    const result = await context.scan(organisation, { phase: 'done', passed: true, options, createdAt: new Date(Date.now() - 1_000) });
    const { id } = await context.scan(organisation, { phase: 'failed', options });
    await context.db.collection<ScanDocument>('scans').deleteOne({ _id: id });
    for (const path of ['/dashboard', '/dashboard/sites/gone.example'])
      expect((await client.get(path)).text, path)
        .to.include(`/dashboard/scans/${result.id}`)
        .and.not.include(id);
  });

  it('ignores filters and places that no form sends', async () => {
    const { client, organisation } = await signedIn(context);
    await context.scan(organisation, { phase: 'done', passed: true });
    for (const query of ['verdict=maybe', 'after=x', 'q=', 'q=a&q=b', 'after=WzEsImEiXQ'])
      expect((await client.get(`/dashboard?${query}`)).status, query).to.equal(200);
    expect((await client.get('/dashboard?verdict=passed&q=EXAMPLE')).text).to.include('>example.com</a>');
    expect((await client.get('/dashboard?verdict=missed')).text).to.include('No site matches');
  });

  it('sends the same number of commands to MongoDB for one site, and for 500 with 10,000 scans', async () => {
    const { client, organisation } = await signedIn(context);
    const commandsOf = async (path: string): Promise<string[]> => {
      await client.get(path);
      context.commands.length = 0;
      expect((await client.get(path)).status, path).to.equal(200);
      return [...context.commands].sort();
    };
    await context.scan(organisation, { phase: 'done', finishedAt: new Date(), options: withDefaults({ url: 'https://s0.example/' }) });
    const paths = ['/dashboard', '/dashboard/site-rows', '/dashboard/sites/s0.example'];
    const before: string[][] = [];
    for (const path of paths) before.push(await commandsOf(path));
    const scans = Array.from({ length: 10_000 }, (_, at) =>
      toDocument(
        scanRow({
          id: randomUUID(),
          organisation,
          submission: 'accepted',
          phase: 'done',
          options: withDefaults({ url: `https://s${at % 500}.example/` }),
          createdAt: new Date(Date.now() - at * 60_000),
          finishedAt: new Date(),
        }),
      ),
    );
    for (let at = 0; at < scans.length; at += 1_000)
      await context.db.collection<ScanDocument>('scans').insertMany(scans.slice(at, at + 1_000));
    await context.stores.sites.record(scans.slice(0, 500).map(({ _id, metadata: _metadata, ...row }) => ({ ...row, id: _id })));
    for (const [at, path] of paths.entries()) expect(await commandsOf(path), path).to.deep.equal(before[at]);
    const [list, , site] = before;
    expect(list!.filter((command) => command === 'find sites')).to.have.length(1);
    expect(await commandsOf('/dashboard?q=s499')).to.deep.equal([...list!, 'find sites'].sort());
    showCount(list!.length, 'MongoDB commands per list of sites');
    showCount(site!.length, 'MongoDB commands per page of a site');
    expect(list).to.have.length.at.most(6);
    expect(site).to.have.length.at.most(8);
    const rows = await client.get('/dashboard/site-rows');
    const again = await client.get('/dashboard/site-rows', { 'If-None-Match': rows.headers.get('etag')! });
    expect([again.status, again.text]).to.deep.equal([304, '']);
  });
});
