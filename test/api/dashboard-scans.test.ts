/** The dashboard's scans over HTTP: organisations, roles, and how many commands a page sends to MongoDB. */
import { expect } from 'chai';
import { CONVERTED_MAX_BYTES } from '../../report/schema/export-size.ts';
import { useContext } from './context.ts';
import { signedIn } from './people.ts';

describe('the dashboard of scans', () => {
  const context = useContext({ queueCacheMs: 60_000 });

  it('lets viewers neither start nor cancel scans', async () => {
    const { client, organisation } = await signedIn(context, { role: 'viewer' });
    const { id } = await context.scan(organisation);
    for (const path of ['/dashboard/scans/new', `/dashboard/scans/${id}/cancel`, `/dashboard/scans/${id}/again`])
      expect((await client.submit(path, {}, '/dashboard')).status, path).to.equal(403);
  });

  it('offers no format of an export that is too large to be converted, but the command', async () => {
    const { client, organisation } = await signedIn(context);
    const reports = (await context.storeReports('large'))!;
    reports.export.bytes = CONVERTED_MAX_BYTES + 1;
    const { id } = await context.scan(organisation, { phase: 'done', finishedAt: new Date(), reports });
    const { text } = await client.get(`/dashboard/scans/${id}`);
    expect(text).to.include(`curbcut report ${id} --html FILE`).and.include('/report/json"').and.not.include('/report/html');
  });

  it('sends the same number of commands to MongoDB for one scan and for many, and 304 if nothing changed', async () => {
    const { client, organisation } = await signedIn(context);
    const commandsOf = async (path: string): Promise<string[]> => {
      await client.get(path);
      context.commands.length = 0;
      await client.get(path);
      return [...context.commands].sort();
    };
    const { id } = await context.scan(organisation, { phase: 'done', finishedAt: new Date() });
    const paths = ['/dashboard/scans', '/dashboard/scans/rows', `/dashboard/scans/${id}`];
    const before = await Promise.all(paths.slice(0, 1).map(commandsOf));
    for (let at = 0; at < 40; at += 1) await context.scan(organisation);
    expect(await commandsOf('/dashboard/scans'))
      .to.deep.equal(before[0])
      .and.have.length.at.most(3);
    expect(await commandsOf('/dashboard/scans/rows')).to.deep.equal(before[0]);
    expect(await commandsOf(`/dashboard/scans/${id}`)).to.have.length.at.most(4);
    const rows = await client.get('/dashboard/scans/rows');
    const again = await client.get('/dashboard/scans/rows', { 'If-None-Match': rows.headers.get('etag')! });
    expect([again.status, again.text]).to.deep.equal([304, '']);
  });
});
