import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { download } from './object-store.ts';

/** Serves the answers in turn. @returns what a download gives, and the failures that it reported */
async function downloaded(answers: readonly RequestListener[], maxBytes = 100, signal = new AbortController().signal) {
  let asked = 0;
  const server = createServer((request, response) => answers[Math.min(asked++, answers.length - 1)]!(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/report.json?X-Amz-Signature=secret`;
  const failures: string[] = [];
  try {
    const pause = async (): Promise<void> => signal.throwIfAborted();
    const read = await download(url, { maxBytes, signal, pause, onFailure: (_, message) => failures.push(message) }).catch(
      (error: unknown) => error,
    );
    return { read, failures };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
const status =
  (code: number, body = ''): RequestListener =>
  (_, response) =>
    void response.writeHead(code).end(body);

describe('the download of a baseline', () => {
  it('reads the object, after failures of the store', async () => {
    const { read, failures } = await downloaded([status(503), status(403), status(200, 'report')]);
    expect((read as { bytes: Uint8Array }).bytes.toString()).to.equal('report');
    expect(failures).to.deep.equal(['the object store responded with status 503', 'the object store responded with status 403']);
  });

  it('says that there is no such object, or that it is too large', async () => {
    expect((await downloaded([status(404)])).read).to.deep.equal({ ok: false, reason: 'missing' });
    expect((await downloaded([status(200, 'x'.repeat(101))])).read).to.deep.equal({ ok: false, reason: 'too_large' });
    expect((await downloaded([status(200, 'x'.repeat(100))])).read).to.have.property('ok', true);
  });

  it('ends with the scan, and follows no redirect', async () => {
    const reason = new Error('the scan is over');
    const ended = new AbortController();
    const { read, failures } = await downloaded(
      [
        (_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
        (_, response) => {
          ended.abort(reason);
          response.writeHead(503).end();
        },
      ],
      100,
      ended.signal,
    );
    expect(read).to.equal(reason);
    expect(failures).to.have.length(1);
    expect(failures.join()).to.not.include('secret');
  });
});
