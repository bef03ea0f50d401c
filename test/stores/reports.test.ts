import { expect } from 'chai';
import { VIEW_MAX_BYTES, viewOf } from '../../report/view/view.ts';
import { startObjects } from '../../local/objects/objects.ts';
import { smallReport } from '../report/samples.ts';
import { PICTURES_TYPE } from '../../core/protocol/pod-messages.ts';
import { createReports, incomingKeys, incomingPrefix, type Reports } from '../../stores/reports.ts';
import { reportKeys } from '../../report/schema/objects.ts';

const failure = (promise: Promise<unknown>): Promise<unknown> => promise.then(() => null, (reason: unknown) => reason); // prettier-ignore
const secrets = { accessKeyId: 'curbcut', secretAccessKey: 'a secret of the tests' };
const json = { 'content-type': 'application/json' };

describe('report objects', () => {
  let objects: Awaited<ReturnType<typeof startObjects>>;
  let reports: Reports & { close(): void };
  let count = 0;
  let key: string;

  const reportsWith = (over: object = {}) =>
    createReports({ endpoint: objects.endpoint, region: 'us-east-1', bucket: 'reports', ...secrets, ...over });
  const put = (link: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = json) =>
    fetch(link, { method: 'PUT', body, headers });

  before(async () => {
    objects = await startObjects({ bucket: 'reports', ...secrets });
    reports = reportsWith();
  });
  after(async () => {
    reports.close();
    await objects.close();
  });
  beforeEach(() => {
    key = reportKeys(`scan-${(count += 1)}`).export;
  });

  it('accepts a plain PUT to an upload link, and serves a plain GET with the file name', async () => {
    expect((await put(await reports.uploadLink(key, 'application/json', 60), '{"a":1}')).status).to.equal(200);
    expect(await reports.size(key)).to.equal(7);
    const response = await fetch(await reports.downloadLink(key, 'acme report.json', 60));
    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.equal('application/json');
    expect(response.headers.get('content-disposition')).to.include('filename="acme report.json"');
    expect(await response.text()).to.equal('{"a":1}');
  });

  it('reads a whole object up to the maximum size', async () => {
    await put(await reports.uploadLink(key, 'application/json', 60), 'x'.repeat(300_000));
    const read = await reports.read(key, 300_000);
    expect(read.ok && Buffer.from(read.bytes).toString()).to.equal('x'.repeat(300_000));
    expect(await reports.read(key, 299_999)).to.deep.equal({ ok: false, reason: 'too_large' });
  });

  it('reports missing objects, and removes objects repeatedly without an error', async () => {
    expect(await reports.size(key)).to.equal(null);
    expect(await reports.read(key, 10)).to.deep.equal({ ok: false, reason: 'missing' });
    await put(await reports.uploadLink(key, 'application/json', 60), 'x');
    await reports.remove([key, reportKeys('never').pdf]);
    await reports.remove([key]);
    expect(await reports.size(key)).to.equal(null);
  });

  describe('copy', () => {
    const json = { contentType: 'application/json' };
    let from: string;
    beforeEach(async () => {
      from = incomingKeys(`scan-${count}`, { attempt: 0, shard: 0 }).export;
      await put(await reports.uploadLink(from, 'application/json', 60), '{"a":1}', {
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      });
    });
    const etagOf = async (of: string) => {
      const read = await reports.read(of, 100);
      return read.ok ? read.etag : '';
    };

    it('sets the given type and drops the headers of the upload', async () => {
      expect(await reports.copy(from, key, { etag: await etagOf(from), ...json })).to.deep.equal({ ok: true });
      const response = await fetch(await reports.downloadLink(key, 'a.json', 60));
      expect(response.headers.get('content-type')).to.equal('application/json');
      expect(response.headers.get('content-encoding')).to.equal(null);
      expect(await response.text()).to.equal('{"a":1}');
    });

    it('refuses an object that changed after it was read', async () => {
      const etag = await etagOf(from);
      await put(await reports.uploadLink(from, 'application/json', 60), '{"a":2}');
      expect(await reports.copy(from, key, { etag, ...json })).to.deep.equal({ ok: false, reason: 'changed' });
      expect(await reports.size(key)).to.equal(null);
    });

    it('refuses a missing object', async () => {
      const missing = incomingKeys('never', { attempt: 0, shard: 0 }).export;
      expect(await reports.copy(missing, key, { etag: '"x"', ...json })).to.deep.equal({ ok: false, reason: 'missing' });
    });
  });

  describe('view', () => {
    const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value));
    const view = viewOf(smallReport());
    let scan: string;
    beforeEach(() => {
      scan = `scan-${count}`;
    });

    it('is stored as JSON beside the reports and read again', async () => {
      await reports.writeView(scan, bytesOf({ ...view, url: 'https://earlier.example/' }));
      await reports.writeView(scan, bytesOf(view));
      expect(await reports.readView(scan)).to.deep.equal(view);
      const response = await fetch(await reports.downloadLink(reportKeys(scan).view, 'view.json', 60));
      expect(response.headers.get('content-type')).to.equal('application/json');
    });

    it('is null if there is none', async () => expect(await reports.readView(scan)).to.equal(null));

    const table: [string, Uint8Array][] = [
      ['text that is not JSON', Buffer.from('{')],
      ['invalid UTF-8', Buffer.from([0x22, 0xff, 0x22])],
      ['another version', bytesOf({ ...view, view_version: 2 })],
      ['a missing field', bytesOf({ ...view, groups: undefined })],
      ['a value of another type', bytesOf({ ...view, pages: [{ url: 1 }] })],
      ['more than the maximum size', bytesOf({ ...view, url: 'x'.repeat(VIEW_MAX_BYTES) })],
    ];
    for (const [what, bytes] of table)
      it(`is null if the object holds ${what}`, async () => {
        await reports.writeView(scan, bytes);
        expect(await reports.readView(scan)).to.equal(null);
      });

    it('may have fields that this version does not know', async () => {
      const [page, ...others] = view.pages;
      await reports.writeView(scan, bytesOf({ ...view, later: 1, pages: [{ ...page, later: 1 }, ...others] }));
      expect((await reports.readView(scan))?.score).to.deep.equal(view.score);
    });
  });

  describe('pictures', () => {
    const pictures = Buffer.from('first|second|third');
    const second = { offset: 6, bytes: 6 };

    it('are read one at a time from the object that holds all of them', async () => {
      const scan = `scan-${count}`;
      await put(await reports.uploadLink(reportKeys(scan).pictures, PICTURES_TYPE, 60), pictures.toString(), {
        'content-type': PICTURES_TYPE,
      });
      expect(Buffer.from((await reports.readPicture(scan, second))!).toString()).to.equal('second');
      expect(await reports.readPicture(scan, { offset: 14, bytes: 9 }), 'a picture beyond the end').to.equal(null);
      expect(await reports.readPicture(scan, { offset: 99, bytes: 1 }), 'a picture after the end').to.equal(null);
      await reports.remove(Object.values(reportKeys(scan)));
      expect(await reports.readPicture(scan, second), 'a removed object').to.equal(null);
    });

    it('are null if a scan has none', async () => expect(await reports.readPicture('never', second)).to.equal(null));
  });

  it('removes all uploads of one scan, and nothing else', async () => {
    const keys = [0, 1].flatMap((attempt) => Object.values(incomingKeys('several', { attempt, shard: 0 })));
    const other = incomingKeys('several-more', { attempt: 0, shard: 0 }).pdf;
    for (const one of [...keys, other]) await put(await reports.uploadLink(one, 'application/json', 60), 'x');
    await reports.removeAll(incomingPrefix('several'));
    await reports.removeAll(incomingPrefix('several'));
    expect(await Promise.all([...keys, other].map((one) => reports.size(one)))).to.deep.equal([...keys.map(() => null), 1]);
  });

  it('lists the scans that have uploads, but no marker of a folder', async () => {
    const before = Date.now();
    for (const one of [...Object.values(incomingKeys('listed', { attempt: 0, shard: 0 })), 'incoming/', 'incoming/note.txt'])
      expect((await put(await reports.uploadLink(one, 'application/json', 60), 'x')).status, one).to.equal(200);
    const uploads = await reports.uploads();
    const [listed] = uploads.filter(({ scanId }) => scanId === 'listed');
    expect(listed!.newestAt.getTime()).to.be.closeTo(before, 10_000);
    expect(uploads.map(({ scanId }) => scanId))
      .to.not.include('note.txt')
      .and.not.include('');
  });

  it('signs links for one object, one method and one type', async () => {
    const upload = await reports.uploadLink(key, 'application/json', 60);
    const elsewhere = upload.replace(key, reportKeys('another').export);
    expect((await put(elsewhere, 'x')).status, 'another object').to.equal(403);
    expect((await put(upload, 'x', { 'content-type': 'text/html' })).status, 'another type').to.equal(403);
    expect((await fetch(upload)).status, 'another method').to.equal(403);
    expect((await put(upload.replace(/X-Amz-Expires=60/, 'X-Amz-Expires=6000'), 'x')).status, 'a longer life').to.equal(403);
    const signature = new URL(upload).searchParams.get('X-Amz-Signature')!;
    const forged = upload.replace(signature, (signature.startsWith('0') ? '1' : '0') + signature.slice(1));
    expect((await put(forged, 'x')).status, 'another signature').to.equal(403);
    expect((await put(upload.split('?')[0]!, 'x')).status, 'no signature').to.equal(403);
    const copying = { ...json, 'x-amz-copy-source': `reports/${reportKeys('another').export}` };
    expect((await put(upload, '', copying)).status, 'a copy of another object').to.equal(403);
    expect(await reports.size(key)).to.equal(null);

    await put(upload, 'x');
    const download = await reports.downloadLink(key, 'a.json', 60);
    expect((await fetch(download.replace('a.json', 'b.html'))).status, 'another file name').to.equal(403);
    expect((await fetch(download.replace(key, reportKeys('another').export))).status, 'another object').to.equal(403);
  });

  it('rejects requests and links with the wrong secret', async () => {
    const unauthorised = reportsWith({ secretAccessKey: 'wrong' });
    expect((await put(await unauthorised.uploadLink(key, 'application/json', 60), 'x')).status).to.equal(403);
    expect(await failure(unauthorised.size(key))).to.be.instanceOf(Error);
    unauthorised.close();
  });

  it('checks that the bucket is reachable', async () => {
    await reports.ping();
    const nowhere = reportsWith({ bucket: 'missing' });
    expect(await failure(nowhere.ping())).to.be.instanceOf(Error);
    nowhere.close();
  });
});
