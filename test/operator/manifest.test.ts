import { expect } from 'chai';
import { SCAN_ID_ANNOTATION } from '../../core/protocol/custom-resources.ts';
import { SCANS } from '../../operator/scan/kube-types.ts';
import { incomingKeys } from '../../stores/reports.ts';
import { bytesOf, reportOf } from '../support/scan-results.ts';
import { ORGANISATION, useContext, until } from './context.ts';

describe('operator: scans from manifests', function () {
  this.timeout(240_000);
  const context = useContext();
  before(async () => {
    await context.grant(100);
    context.start({ maxPagesLimit: 20 });
  });

  it('run like submissions and are charged to the organisation of their namespace', async () => {
    const spent = await context.spent();
    const scan = await context.apply(context.team, { maxPages: 4 });
    const pod = await scan.pod();
    expect(await context.held()).to.equal(4);
    const read = (await scan.read())!;
    expect(read.metadata.labels).to.include({ 'curbcut.dev/organisation': ORGANISATION });
    expect(scan.id).to.equal(read.metadata.uid);
    const row = (await scan.row())!;
    expect(row).to.include({ origin: 'manifest', organisation: ORGANISATION, submission: 'accepted', pagesRequested: 4, pagesReserved: 4 });
    expect(row.resource).to.deep.equal({ namespace: context.team, name: scan.name });
    expect(pod.metadata.namespace).to.equal(context.team);
    await scan.publish(await scan.upload(pod, bytesOf(reportOf(await scan.input()))));
    expect((await scan.settles()).status).to.include({ phase: 'done' });
    expect((await context.spent()) - spent).to.equal(2);
    expect(await context.held()).to.equal(0);
  });

  it('have the metadata of their annotations, also if these change while the scan runs', async () => {
    const metadata = { branch: 'feature/a=b', 'dotted.key': 'ü' };
    const annotations = {
      'metadata.curbcut.dev/branch': 'feature/a=b',
      'metadata.curbcut.dev/dotted.key': 'ü',
      'example.com/branch': 'no',
    };
    const scan = await context.apply(context.team, {}, annotations);
    const pod = await scan.pod();
    expect((await scan.row())!.metadata).to.deep.equal(metadata);
    const input = await scan.input();
    expect(input.metadata).to.deep.equal(metadata);
    await scan.patch({ metadata: { annotations: { 'metadata.curbcut.dev/branch': 'other' } } });
    const report = reportOf(input);
    expect(report.scan.metadata).to.deep.equal(metadata);
    await scan.publish(await scan.upload(pod, bytesOf(report)));
    expect((await scan.settles()).status).to.include({ phase: 'done' });
    expect((await scan.row())!.metadata).to.deep.equal(metadata);
  });

  it('cannot claim the scan ID of another scan', async () => {
    const victim = await context.submit();
    await victim.pod();
    const upload = incomingKeys(victim.id, { attempt: 0, shard: 0 }).pdf;
    const link = await context.reports.uploadLink(upload, 'application/pdf', 60);
    await fetch(link, { method: 'PUT', body: '%PDF-', headers: { 'content-type': 'application/pdf' } });
    const forged = await context.connection.request<{ metadata: { uid: string; name: string } }>(
      'POST',
      context.connection.path(SCANS, context.namespace),
      {
        body: {
          apiVersion: 'curbcut.dev/v1',
          kind: 'AccessibilityScan',
          metadata: { name: 'forged', annotations: { [SCAN_ID_ANNOTATION]: victim.id } },
          spec: { url: 'http://site.test:8080/' },
        },
      },
    );
    const path = context.connection.path(SCANS, context.namespace, 'forged');
    type Read = { status?: { message?: string; phase?: string }; metadata: { finalizers?: string[] } };
    const refused = await until('the scan is refused', async () => {
      const read = await context.connection.request<Read>('GET', path);
      return read.status?.phase === 'failed' && !read.metadata.finalizers?.length ? read : null;
    });
    expect(refused.status?.message).to.match(/Another resource already has this scan ID/);
    expect(forged.metadata.uid).not.to.equal(victim.id);
    expect(await context.reports.size(upload), "the victim's uploads stay").to.equal(5);
    expect(await victim.row()).to.include({ phase: 'queued', pagesReserved: 5 });
    expect(await context.held()).to.equal(5);
    await victim.patch({ spec: { cancel: true } });
    await victim.settles();
  });
});
