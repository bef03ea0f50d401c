/** The pages of sites over HTTP: organisations, and how many commands a page sends to MongoDB. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { withDefaults } from '../../core/scan/options.ts';
import { type ScanDocument, type ScanRow, toDocument } from '../../stores/scans/scan-row.ts';
import { SITE_GROUPS_MAX } from '../../stores/scans/sites.ts';
import { scanRow } from '../support/scan-rows.ts';
import { showCount } from '../support/counts.ts';
import { OUTCOME } from '../web/scan-views.ts';
import { scheduleRow } from '../support/schedule-rows.ts';
import { tokenIn } from './client.ts';
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
      new RegExp(`,did_not_pass,${OUTCOME.score},${OUTCOME.violations.total},.*,done,$`),
    );
    const failed = await client.get('/dashboard/sites.csv?verdict=missed&q=example');
    expect(failed.text.trimEnd().split('\r\n')).to.have.length(2);
    expect((await client.get('/dashboard')).text).to.include('href="/dashboard/sites.csv"');
  });

  it('has one row for a host: its schedule, else its newest result, and no start from another page that failed', async () => {
    const { client, organisation } = await signedIn(context);
    const url = 'https://one.example/';
    const add = (minute: number, options: Partial<Parameters<typeof withDefaults>[0]>, over: Partial<ScanRow> = {}) =>
      context.scan(organisation, {
        ...{ phase: 'done', passed: true, outcome: OUTCOME, createdAt: new Date(Date.now() + minute * 60_000) },
        options: withDefaults({ url, ...options }),
        ...over,
      });
    const scheduled = await add(0, { maxPages: 15 });
    await add(1, { maxPages: 4 });
    await add(2, { maxPages: 15, url: `${url}hang` }, { phase: 'failed', passed: null, outcome: null });
    await add(3, { maxPages: 3 }, { phase: 'failed', passed: null, outcome: null });
    const row = async () => (await client.get('/dashboard/sites.csv')).text.trimEnd().split('\r\n').slice(1);
    expect((await row()).map((line) => line.split(',').slice(0, 3))).to.deep.equal([['one.example', '', '4']]);
    await context.stores.schedules.put(scheduleRow({ organisation, url, optionsKey: scheduled.optionsKey, nextAt: new Date() }), 'x');
    expect((await row())[0])
      .to.include(`,15,WCAG 2.1 AA,no,no,${scheduled.id},`)
      .and.include(',passed,');
    expect((await client.get('/dashboard')).text)
      .to.include('2 other configurations')
      .and.not.include('/hang');
  });

  it('names and hides a site, and records both', async () => {
    const { client, organisation, email } = await signedIn(context);
    await context.scan(organisation, { phase: 'done', outcome: OUTCOME, options: withDefaults({ url: 'https://shop.example/' }) });
    const path = '/dashboard/sites/shop.example';
    const save = async (form: Record<string, string>) =>
      client.post(`${path}/label`, { _csrf: tokenIn((await client.get(path)).text), ...form });
    expect((await save({ name: 'x'.repeat(101) })).status).to.equal(422);
    const saved = await save({ name: ' The <shop> ', hidden: 'on' });
    expect([saved.status, saved.headers.get('location')]).to.deep.equal([303, `${path}?done=label`]);
    expect((await client.get('/dashboard')).text)
      .to.include('1 hidden site')
      .and.not.include('shop.example');
    expect((await client.get('/dashboard?hidden=yes')).text)
      .to.include('The &lt;shop&gt;')
      .and.include('shop.example: ');
    await save({ name: 'The <shop>' });
    const entries = await context.stores.organisations.auditPage(organisation, { kind: 'changes', limit: 9 });
    expect(
      entries.filter(({ action }) => action.startsWith('site.')).map(({ action, subject, actor }) => [action, subject, actor]),
    ).to.deep.equal([
      ['site.show', 'shop.example', email],
      ['site.hide', 'shop.example', email],
      ['site.name', 'shop.example: The <shop>', email],
    ]);
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
    expect((await commandsOf('/dashboard?verdict=passed')).length).to.be.at.most(list!.length + 1);
    showCount(list!.length, 'MongoDB commands per list of sites');
    showCount(site!.length, 'MongoDB commands per page of a site');
    expect(list).to.have.length.at.most(7);
    expect(site).to.have.length.at.most(10);
    const rows = await client.get('/dashboard/site-rows');
    const again = await client.get('/dashboard/site-rows', { 'If-None-Match': rows.headers.get('etag')! });
    expect([again.status, again.text]).to.deep.equal([304, '']);
  });
});
