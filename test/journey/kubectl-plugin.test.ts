/** `kubectl curbcut` with the real kubectl, operator, API and scanner. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { ScanQueue } from '../../core/protocol/custom-resources.ts';
import type { ScanSchedule } from '../../core/protocol/scan-schedules.ts';
import { eventually, startWholeProduct, type WholeProduct } from './product.ts';

interface Result {
  scan_id: string;
  name: string;
  namespace: string;
  status: string;
  passed: boolean | null;
}

describe('kubectl curbcut and the whole product', function () {
  this.timeout(180_000);
  let product: WholeProduct;
  let first: Result;
  before(async () => {
    product = await startWholeProduct();
  });
  after(async () => {
    await product?.close();
  });
  const dataOf = <T = Result>({ stdout }: { stdout: string }): T => JSON.parse(stdout) as T;

  it('scans with a resource, and exits by the verdict', async () => {
    const ran = await product.plugin(
      'scan',
      product.demoUrl,
      '--name',
      'by-hand',
      '--max-pages',
      '2',
      '--fail-on',
      'critical',
      '-o',
      'json',
    );
    expect(ran.code, ran.stderr).to.equal(1); // the demo site has critical violations
    first = dataOf(ran);
    expect(first).to.deep.include({ name: 'by-hand', namespace: product.namespace, status: 'done', passed: false });
    const followed = await product.plugin('follow', 'by-hand', '-o', 'json');
    expect(followed.code).to.equal(1);
    expect(dataOf(followed)).to.deep.equal(first);
  });

  it('lists the scan, and saves its reports by its name', async () => {
    const { data } = dataOf<{ data: Result[] }>(await product.plugin('list', '--json'));
    expect(data).to.deep.equal([first]);
    const exported = join(product.dir, 'by-hand.json');
    const ran = await product.plugin('report', 'by-hand', '--export', exported);
    expect(ran.code, ran.stderr).to.equal(0);
    const { scan } = JSON.parse(await readFile(exported, 'utf8')) as { scan: { id: string } };
    expect(scan.id).to.equal(first.scan_id);
  });

  it('runs a schedule now, and compares its scan with the first by their names', async () => {
    const schedule = {
      apiVersion: 'curbcut.dev/v1',
      kind: 'ScanSchedule',
      metadata: { name: 'yearly' },
      spec: { schedule: '0 0 1 1 *', scanTemplate: { spec: { url: product.demoUrl, maxPages: 2 } } },
    };
    await product.kubectl(['create', '-f', '-'], JSON.stringify(schedule));
    const ran = await product.plugin('run', 'schedule/yearly', '--wait', '-o', 'json');
    expect(ran.code, ran.stderr).to.equal(0);
    const scan = dataOf(ran);
    expect(scan.name).to.match(/^yearly-run-[0-9a-f]{8}$/);
    expect(scan.status).to.equal('done');
    const stored = JSON.parse(await product.kubectl(['get', 'scanschedule', 'yearly', '-o', 'json'])) as ScanSchedule;
    expect(stored.metadata.annotations?.['curbcut.dev/run']).to.equal(stored.status?.lastRunRequest);
    const compared = await product.plugin('diff', 'by-hand', scan.name, '-o', 'json');
    expect(compared.code, compared.stderr).to.equal(0);
    expect(dataOf<object>(compared)).to.deep.include({ before: first.scan_id, after: scan.scan_id, new: [], fixed: [] });
  });

  it('shows the position of a scan that waits in a paused queue, and cancels it', async () => {
    await product.kubectl(['patch', 'scanqueue', 'default', '--type=merge', '-p', '{"spec":{"paused":true}}']);
    try {
      // A scan that comes before the operator has seen the change is admitted.
      await eventually(
        async () => JSON.parse(await product.kubectl(['get', 'scanqueue', 'default', '-o', 'json'])) as ScanQueue,
        ({ metadata, status }) => status?.observedGeneration === metadata.generation,
      );
      const held = await product.plugin('scan', product.demoUrl, '--name', 'held', '--max-wait', '2');
      expect(held.code).to.equal(2);
      expect(held.stderr).to.include('Gave up after').and.include('kubectl curbcut cancel held');
      await eventually(
        () => product.plugin('queue', 'default', '-o', 'json'),
        (ran) => {
          const { waiting } = dataOf<{ waiting: { name: string; position: number | null }[] }>(ran);
          return waiting.length === 1 && waiting[0]!.name === 'held' && waiting[0]!.position === 1;
        },
      );
      expect((await product.plugin('cancel', 'held')).code).to.equal(0);
      const followed = await product.plugin('follow', 'held', '-o', 'json');
      expect(dataOf(followed).status).to.equal('canceled');
    } finally {
      await product.kubectl(['patch', 'scanqueue', 'default', '--type=merge', '-p', '{"spec":{"paused":false}}']);
    }
  });
});
