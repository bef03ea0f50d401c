/** Deleting scans and sites over HTTP and in the dashboard: who may, which scans, and what does not have it any more. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { withDefaults } from '../../core/scan/options.ts';
import { type ScanDocument, toDocument } from '../../stores/scans/scan-row.ts';
import { issueKey } from '../support/issue-key.ts';
import { useContext, HIGH_LIMITS, SUBMISSION } from './context.ts';
import { signedIn } from './people.ts';

describe('DELETE /v1/scans/{scan_id}', () => {
  const context = useContext({ limits: HIGH_LIMITS });
  const remove = (scanId: string, key: string) => context.request('DELETE', `/v1/scans/${scanId}`, { key });
  const detailOf = async (scanId: string, key: string) => {
    const { status, body } = await remove(scanId, key);
    return `${status} ${body?.detail ?? ''}`.trim();
  };
  const ended = { phase: 'done', finishedAt: new Date() } as const;

  it('takes it from every list at once, is recorded once, and leaves the site its other scans', async () => {
    const { id, key } = await context.organisation();
    const older = await context.scan(id, { ...ended, createdAt: new Date(Date.now() - 60_000) });
    const row = await context.scan(id, { ...ended, phase: 'failed', passed: false, metadata: { branch: 'secret-launch' } });
    await context.db
      .collection<{ _id: string }>('scans')
      .updateOne({ _id: row.id }, { $set: { 'options.crawl.include': ['/secret-launch/**'] } });
    await context.scan(id, { ...ended, optionsKey: 'other' });
    const group = () => context.stores.sites.find(id, row.site, row.optionsKey);
    expect(await group()).to.include({ scan: row.id, done: older.id });
    expect((await Promise.all([detailOf(row.id, key), detailOf(row.id, key)])).toSorted()).to.deep.equal(['204', '404 scan_not_found']);
    expect(await group()).to.include({ scan: older.id, done: older.id, phase: 'done' });
    const list = await context.request('GET', '/v1/ci/scans', { key });
    expect(list.body.data).to.have.lengthOf(2);
    expect(list.text).to.not.include(row.id);
    for (const path of [`/v1/ci/scans/${row.id}`, `/v1/scans/${row.id}/report`])
      expect((await context.request('GET', path, { key })).status, path).to.equal(404);
    expect(JSON.stringify(await context.db.collection('scans').find().toArray())).to.not.include('secret-launch');
    const audit = await context.stores.organisations.audit(id, 10);
    expect(audit.filter(({ action }) => action === 'scan.delete').map(({ subject }) => subject)).to.deep.equal([`${row.site} ${row.id}`]);
    expect(await detailOf(older.id, key)).to.equal('204');
    expect(await group(), 'a site without scans is not listed').to.equal(null);
  });

  it('refuses scans in progress, and those of others', async () => {
    const { id, key } = await context.organisation();
    const live = await context.scan(id);
    const done = await context.scan(id, ended);
    const other = await context.organisation();
    expect(await detailOf(live.id, key)).to.equal('409 scan_not_complete');
    expect(await detailOf(done.id, other.key)).to.equal('404 scan_not_found');
    const { secret: test } = await issueKey(context.stores.keys, id, { test: true });
    expect(await detailOf(done.id, test), 'no scan of a test key').to.equal('404 scan_not_found');
    const { secret: reader } = await issueKey(context.stores.keys, id, { scopes: ['scans:read', 'scans:write'] });
    expect(await detailOf(done.id, reader), 'the key of a pipeline').to.equal('403 permission_denied');
    expect(await context.stores.scans.find(done.id, id)).to.not.equal(null);
  });

  it('leaves no stored answer that names its address', async () => {
    const { id, key } = await context.organisation({ credits: 10 });
    const { body } = await context.request('POST', '/v1/ci/scans', {
      key,
      body: { ...SUBMISSION, url: 'https://example.com/secret-launch' },
    });
    const scan = body.scan_id as string;
    const fields = { name: 'hook', url: 'https://hooks.example/', events: ['scan.failed'], format: 'json', creditsBelow: 1 } as const;
    const added = await context.stores.webhooks.add({ ...fields, organisation: id, createdBy: 'x' });
    const webhook = added.ok ? added.webhook.id : '';
    const about = { webhook, organisation: id, scan, event: `scan.failed:${scan}`, type: 'scan.failed', order: 0 } as const;
    const [delivery] = await context.stores.deliveries.enqueue([{ ...about, body: 'https://example.com/secret-launch' }]);
    for (const path of [`/v1/ci/scans/${scan}/cancel`, `/v1/webhooks/${webhook}/deliveries/${delivery!.id}/replay`])
      expect((await context.request('POST', path, { key, headers: { 'Idempotency-Key': path } })).text, path).to.include('secret-launch');
    const stored = async () =>
      JSON.stringify(await context.db.collection('idempotency').find().toArray()).split('secret-launch').length - 1;
    expect(await stored()).to.equal(2);
    // As the sweeper of the operator does.
    await context.stores.idempotency.removeOf(scan);
    expect(await stored()).to.equal(0);
  });

  it('charges no repeated submission again', async () => {
    const { id, key } = await context.organisation({ credits: 10 });
    const submit = () => context.request('POST', '/v1/ci/scans', { key, body: SUBMISSION, headers: { 'Idempotency-Key': 'once' } });
    const first = await submit();
    await context.stores.scans.mirror(first.body.scan_id as string, ended);
    expect(await detailOf(first.body.scan_id as string, key)).to.equal('204');
    const again = await submit();
    expect([again.status, again.body.scan_id]).to.deep.equal([202, first.body.scan_id]);
    expect(await context.stores.credits.holds(id)).to.have.lengthOf(1);
  });

  it('is a form of the dashboard for those who may start scans', async () => {
    const { client, organisation } = await signedIn(context, { role: 'member' });
    const viewer = await signedIn(context, { role: 'viewer', organisation });
    const { id } = await context.scan(organisation, ended);
    const page = `/dashboard/scans/${id}`;
    expect((await viewer.client.get(page)).text).to.not.include('Delete scan');
    expect((await viewer.client.submit(`${page}/delete`, {}, '/dashboard')).status).to.equal(403);
    expect((await client.get(page)).text).to.include('Delete scan');
    const answer = await client.submit(`${page}/delete`, {}, page);
    expect([answer.status, answer.headers.get('location')]).to.deep.equal([303, '/dashboard/scans?deleted']);
    expect((await client.get('/dashboard/scans?deleted')).text).to.include('The scan was deleted.');
    expect((await client.get(page)).status).to.equal(404);
  });
});

describe('the deletion of a site', () => {
  const context = useContext({ limits: HIGH_LIMITS });
  const ended = { phase: 'done', finishedAt: new Date() } as const;
  const of = (url: string) => ({ ...ended, options: withDefaults({ url }) });

  it('takes its ended scans after an owner has entered the host, however many options they have, and is recorded', async () => {
    const { client, organisation } = await signedIn(context);
    const member = await signedIn(context, { role: 'member', organisation });
    const other = await signedIn(context);
    const [page, path] = ['/dashboard/sites/shop.example', '/dashboard/sites/shop.example/delete'];
    await context.scan(organisation, of('https://shop.example/'));
    await context.scan(organisation, { ...of('https://shop.example/'), phase: 'failed', optionsKey: 'other' });
    const kept = [
      await context.scan(organisation, of('https://a.shop.example/')),
      await context.scan(other.organisation, of('https://shop.example/')),
    ];
    const stored = async (id: string) => (await context.stores.scans.search(id, { limit: 9 })).rows.map((row) => row.id);

    expect((await member.client.get(page)).text).to.not.include('Delete this site');
    expect((await member.client.submit(path, { site: 'shop.example' }, '/dashboard')).status).to.equal(403);
    expect((await client.get(page)).text).to.include(path);
    expect((await client.submit(path, { site: 'a.shop.example' })).status).to.equal(422);
    const live = await context.scan(organisation, { options: withDefaults({ url: 'https://shop.example/' }) });
    const refused = await client.submit(path, { site: 'shop.example' });
    expect([refused.status, refused.text.includes('are in progress')]).to.deep.equal([409, true]);
    expect(await stored(organisation)).to.have.lengthOf(4);

    await context.stores.scans.mirror(live.id, { phase: 'canceled', finishedAt: new Date() });
    const answer = await client.submit(path, { site: 'Shop.example' });
    expect([answer.status, answer.headers.get('location')]).to.deep.equal([303, '/dashboard?done=site-deleted']);
    expect((await client.get('/dashboard?done=site-deleted')).text).to.include('The site was deleted.');
    expect([...(await stored(organisation)), ...(await stored(other.organisation))]).to.deep.equal(kept.map(({ id }) => id));
    for (const gone of [page, path]) expect((await client.get(gone)).status, gone).to.equal(404);
    expect((await context.stores.sites.of(other.organisation, 'shop.example')).groups).to.have.lengthOf(1);
    const audit = await context.stores.organisations.audit(organisation, 20);
    expect(audit.filter(({ action }) => action === 'site.delete').map(({ subject }) => subject)).to.deep.equal(['shop.example']);
  });

  it('ends after so many scans, and another request deletes the rest', async () => {
    const { client, organisation } = await signedIn(context);
    const path = '/dashboard/sites/many.example/delete';
    const row = await context.scan(organisation, of('https://many.example/'));
    const copies = Array.from({ length: 1_000 }, () => toDocument({ ...row, id: randomUUID() }));
    await context.db.collection<ScanDocument>('scans').insertMany(copies);
    const left = () => context.db.collection('scans').countDocuments({ organisation });
    const first = await client.submit(path, { site: 'many.example' });
    expect([first.status, first.text.includes('Send the form again'), await left()]).to.deep.equal([409, true, 1]);
    expect([(await client.submit(path, { site: 'many.example' })).status, await left()]).to.deep.equal([303, 0]);
    const audit = await context.stores.organisations.audit(organisation, 20);
    expect(audit.filter(({ action }) => action === 'site.delete')).to.have.lengthOf(1);
  });
});
