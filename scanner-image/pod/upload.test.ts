import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { createAuthority, startTlsFront } from '../../test/support/private-authority.ts';
import { UploadFailed, upload } from './object-store.ts';

describe('upload', () => {
  let server: Server;
  let answers: (number | 'drop')[] = [];
  let got: { method?: string; type?: string; body: string }[] = [];
  before(
    () =>
      new Promise<void>((resolve) => {
        server = createServer((request, response) => {
          let body = '';
          request.on('data', (chunk: Buffer) => (body += chunk.toString()));
          request.on('end', () => {
            got.push({ method: request.method, type: request.headers['content-type'], body });
            const answer = answers.shift() ?? 200;
            if (answer === 'drop') request.socket.destroy();
            else response.writeHead(answer).end('<Error>said</Error>');
          });
        }).listen(0, '127.0.0.1', resolve);
      }),
  );
  after(() => server.close());
  beforeEach(() => (got = []));

  const body = new TextEncoder().encode('{"a":1}');
  const waits: number[] = [];
  const put = (signal = new AbortController().signal) =>
    upload(`http://127.0.0.1:${(server.address() as AddressInfo).port}/object?signature=secret`, body, 'application/json', {
      what: 'export',
      signal,
      random: () => 0.5,
      pause: (ms) => Promise.resolve(waits.push(ms)),
    });

  it('stores the bytes and returns their digest', async () => {
    answers = [200];
    expect(await put()).to.deep.equal({ bytes: 7, sha256: createHash('sha256').update(body).digest('hex') });
    expect(got).to.deep.equal([{ method: 'PUT', type: 'application/json', body: '{"a":1}' }]);
  });

  it('retries with increasing delays while the store or the network fails', async () => {
    answers = [503, 'drop', 429, 200];
    waits.length = 0;
    await put();
    expect(got).to.have.length(4);
    expect(waits).to.deep.equal([500, 1000, 2000]);
  });

  it('fails at once if the store rejects the link, without the link in the message', async () => {
    answers = [403];
    const error: unknown = await put().catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(UploadFailed);
    expect((error as Error).message).to.equal('Storing the export failed: the object store responded with status 403 <Error>said</Error>.');
    expect(got).to.have.length(1);
  });

  it('survives an outage of fifteen minutes with pauses of at most half a minute', async () => {
    answers = Array.from({ length: 60 }, () => 503);
    waits.length = 0;
    await put();
    expect(got).to.have.length(61);
    expect(waits.reduce((sum, ms) => sum + ms, 0)).to.be.greaterThan(15 * 60_000);
    expect(Math.max(...waits)).to.be.at.most(30_000);
  });

  it('stops when the signal aborts', async () => {
    answers = [500];
    const stop = new AbortController();
    stop.abort(new Error('ended'));
    expect(await put(stop.signal).catch((thrown: Error) => thrown.message)).to.equal('ended');
  });

  it('says which setting lets it trust the authority of the store', async () => {
    const front = await startTlsFront((server.address() as AddressInfo).port, createAuthority('Store').issue());
    const stop = new AbortController();
    const heard: string[] = [];
    const options = { what: 'export', signal: stop.signal, pause: () => Promise.resolve() };
    const onFailure = (_attempt: number, message: string): void => {
      heard.push(message);
      stop.abort(new Error('ended'));
    };
    try {
      await upload(`https://127.0.0.1:${front.port}/`, body, 'application/json', { ...options, onFailure }).catch(() => undefined);
    } finally {
      await front.close();
    }
    expect(heard.join()).to.include('Add the authority to PRIVATE_CA');
  });
});
