/** The pages of sites over HTTP: organisations, and how many commands a page sends to MongoDB. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { withDefaults } from '../../core/scan/options.ts';
import { type ScanDocument, type ScanRow, toDocument } from '../../stores/scans/scan-row.ts';
import { SITE_GROUPS_MAX } from '../../stores/scans/sites.ts';
import { scanRow } from '../support/scan-rows.ts';
import { showCount } from '../support/counts.ts';
import { OUTCOME } from '../web/scan-views.ts';
import { useContext } from './context.ts';
import { signedIn } from './people.ts';

describe('the dashboard of sites', () => {
  const context = useContext({ queueCacheMs: 60_000 });

  it('answers 404 for one that does not exist, however it is written', async () => {
    const { client, organisation } = await signedIn(context);
    await context.scan(organisation, { phase: 'failed', options: withDefaults({ url: 'https://ours.example:8443/' }) });
    for (const path of ['theirs.example', 'ours.example%3A8443/0000000000000000', '%00'])
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

  it('has all sites of the filter as CSV, also those of further pages', async () => {
    const { client, organisation } = await signedIn(context);
    for (let at = 0; at < 30; at += 1)
      await context.scan(organisation, {
        phase: 'done',
        outcome: OUTCOME,
        passed: at > 0,
        options: withDefaults({ url: `https://s${at}.example/` }),
      });
    const { headers, text } = await client.get('/dashboard/sites.csv');
    expect(headers.get('content-disposition')).to.equal('attachment; filename="sites.csv"');
    const lines = text.trimEnd().split('\r\n');
    expect(lines).to.have.length(1 + 30);
    expect(lines.find((line) => line.startsWith('s0.example,'))).to.match(
      new RegExp(`,did_not_pass,${OUTCOME.score},${OUTCOME.violations.total},.*,done,[0-9a-f-]{36},$`),
    );
    const failed = await client.get('/dashboard/sites.csv?verdict=missed&q=example');
    expect(failed.text.trimEnd().split('\r\n')).to.have.length(2);
    expect((await client.get('/dashboard')).text).to.include('href="/dashboard/sites.csv"');
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

  it('sends the same number of commands to MongoDB for one site, and for 50 with 200 scans', async () => {
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
    const scans = Array.from({ length: 200 }, (_, at) =>
      toDocument(
        scanRow({
          id: randomUUID(),
          organisation,
          submission: 'accepted',
          phase: 'done',
          options: withDefaults({ url: `https://s${at % 50}.example/` }),
          createdAt: new Date(Date.now() - at * 60_000),
          finishedAt: new Date(),
        }),
      ),
    );
    await context.db.collection<ScanDocument>('scans').insertMany(scans);
    await context.stores.sites.record(scans.slice(0, 50).map(({ _id, metadata: _metadata, ...row }) => ({ ...row, id: _id })));
    for (const [at, path] of paths.entries()) expect(await commandsOf(path), path).to.deep.equal(before[at]);
    const [list, , site] = before;
    expect(list!.filter((command) => command === 'find sites')).to.have.length(1);
    expect(await commandsOf('/dashboard?q=s49')).to.deep.equal([...list!, 'find sites'].sort());
    showCount(list!.length, 'MongoDB commands per list of sites');
    showCount(site!.length, 'MongoDB commands per page of a site');
    expect(list).to.have.length.at.most(6);
    expect(site).to.have.length.at.most(8);
    const rows = await client.get('/dashboard/site-rows');
    const again = await client.get('/dashboard/site-rows', { 'If-None-Match': rows.headers.get('etag')! });
    expect([again.status, again.text]).to.deep.equal([304, '']);
  });
});
