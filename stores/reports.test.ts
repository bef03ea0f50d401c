import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { createReports, incomingKeys, incomingPrefix } from './reports.ts';
import { reportKeys } from '../report/schema/objects.ts';

const configuration = {
  endpoint: 'http://127.0.0.1:9000',
  publicEndpoint: 'https://reports.example.com',
  podEndpoint: 'http://objects.curbcut:9000',
  region: 'us-east-1',
  bucket: 'curbcut',
  accessKeyId: 'key',
  secretAccessKey: 'secret',
};

describe('report objects', () => {
  const reports = createReports(configuration);
  after(() => reports.close());

  it('stops reading and copying when the signal aborts, even in the middle of an object', async () => {
    const requests: string[] = [];
    const server = createServer((request, response) => {
      requests.push(`${request.method} ${request.url}`);
      if (request.method === 'GET') response.writeHead(200, { 'content-length': 1000 }).write('{');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const slow = createReports({ ...configuration, endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    try {
      for (const work of [
        (signal: AbortSignal) => slow.read('incoming/one/0/0/report.json', 1000, signal),
        (signal: AbortSignal) => slow.copy('from', 'to', { etag: 'x', contentType: 'application/json', signal }),
      ]) {
        const stop = new AbortController();
        const before = requests.length;
        const working = work(stop.signal).then(
          () => 'ended',
          () => 'aborted',
        );
        while (requests.length === before) await new Promise((resolve) => setTimeout(resolve, 5));
        stop.abort(new Error('stopped'));
        expect(await working).to.equal('aborted');
        expect(requests).to.have.length(before + 1);
      }
    } finally {
      slow.close();
      server.closeAllConnections();
      server.close();
    }
  });

  it('waits for a store that accepts large findings slowly', async () => {
    const server = createServer((request, response) => {
      request.resume().on('end', () => setTimeout(() => response.end(), 400));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const slow = createReports({ ...configuration, endpoint }, { idleMs: 50 });
    try {
      await slow.writeFindings('one', new Uint8Array(1000));
    } finally {
      slow.close();
      server.closeAllConnections();
      server.close();
    }
  });

  it('names the objects of a scan', () => {
    expect(reportKeys('one')).to.deep.equal({
      export: 'scans/one/report.json',
      pdf: 'scans/one/report.pdf',
      pictures: 'scans/one/pictures',
      view: 'scans/one/view.json',
      findings: 'scans/one/findings',
      sarif: 'scans/one/report.sarif',
      junit: 'scans/one/report.junit.xml',
      codequality: 'scans/one/report.codequality.json',
      earl: 'scans/one/report.earl.jsonld',
      html: 'scans/one/report.html',
      csv: 'scans/one/report.csv',
      csv_causes: 'scans/one/report.causes.csv',
      csv_pages: 'scans/one/report.pages.csv',
      openacr: 'scans/one/report.openacr.yaml',
      barriers: 'scans/one/report.barriers.md',
    });
  });

  it('names the objects of each attempt and shard', () => {
    const keys = incomingKeys('one', { attempt: 2, shard: 0 });
    expect(keys).to.deep.equal({
      export: 'incoming/one/2/0/report.json',
      pdf: 'incoming/one/2/0/report.pdf',
      pictures: 'incoming/one/2/0/pictures',
      result: 'incoming/one/2/0/result.json',
    });
    for (const key of Object.values(keys)) expect(key.startsWith(incomingPrefix('one'))).to.equal(true);
  });

  it('signs the content type but no checksum into an upload link, so that a plain PUT can use it', async () => {
    const link = new URL(await reports.uploadLink('scans/one/report.json', 'application/json', 600));
    expect(link.origin + link.pathname).to.equal('http://objects.curbcut:9000/curbcut/scans/one/report.json');
    expect(link.searchParams.get('X-Amz-SignedHeaders')).to.equal('content-type;host');
    expect(link.searchParams.get('X-Amz-Expires')).to.equal('600');
    expect([...link.searchParams.keys()].filter((name) => /checksum|sdk-checksum/i.test(name))).to.deep.equal([]);
  });

  it('creates download links with the public address and the file name', async () => {
    const link = new URL(await reports.downloadLink('scans/one/report.pdf', 'report.pdf', 3600));
    expect(link.origin + link.pathname).to.equal('https://reports.example.com/curbcut/scans/one/report.pdf');
    expect(link.searchParams.get('response-content-disposition')).to.equal('attachment; filename=report.pdf');
    expect(link.searchParams.get('X-Amz-Expires')).to.equal('3600');
  });

  it('encodes file names that would break the header', async () => {
    const link = new URL(await reports.downloadLink('scans/one/report.pdf', 'żółw "1"\r\n.pdf', 3600));
    expect(link.searchParams.get('response-content-disposition')).to.equal(
      `attachment; filename="???w \\"1\\"??.pdf"; filename*=UTF-8''%C5%BC%C3%B3%C5%82w%20%221%22%0D%0A.pdf`,
    );
  });
});
