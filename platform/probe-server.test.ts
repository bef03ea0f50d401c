import { expect } from 'chai';
import { serveProbes, type ProbeServer } from './probe-server.ts';
import type { Readiness } from './readiness.ts';

describe('probe server', () => {
  let server: ProbeServer;
  let readiness: Readiness = { ready: true, missing: ['nats'], dependencies: { mongodb: 'ok', nats: 'missing' } };
  let metrics = (): Promise<string> => Promise.resolve('up 1\n');
  before(async () => {
    server = await serveProbes({
      host: '127.0.0.1',
      port: 0,
      readiness: () => readiness,
      metrics: { contentType: 'text/plain; version=0.0.4', metrics: () => metrics() },
    });
  });
  after(() => server.close());

  const get = async (path: string, method = 'GET') => {
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, { method });
    return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
  };

  it('serves health, readiness and metrics', async () => {
    expect(await get('/healthz')).to.deep.equal({ status: 200, type: 'application/json', text: '{"status":"ok"}' });
    expect(JSON.parse((await get('/readyz?verbose')).text)).to.deep.equal({
      status: 'ready',
      missing: ['nats'],
      dependencies: { mongodb: 'ok', nats: 'missing' },
    });
    expect(await get('/metrics')).to.deep.equal({ status: 200, type: 'text/plain; version=0.0.4', text: 'up 1\n' });
    expect(await get('/metrics', 'HEAD')).to.include({ status: 200, text: '' });
  });

  it('answers 503 if the process is not ready', async () => {
    readiness = { ready: false, missing: ['mongodb'], dependencies: { mongodb: 'missing' } };
    expect((await get('/readyz')).status).to.equal(503);
  });

  it('answers 404, 405 and 500 without details', async () => {
    metrics = () => Promise.reject(new Error('secret'));
    expect(await get('/')).to.include({ status: 404, text: '{"detail":"not_found"}' });
    expect(await get('/healthz', 'POST')).to.include({ status: 405 });
    expect(await get('/metrics')).to.include({ status: 500, text: '{"detail":"internal_error"}' });
  });

  it('rejects if the port is taken', async () => {
    const taken = serveProbes({ host: '127.0.0.1', port: server.port, readiness: () => readiness, metrics: { contentType: '', metrics } });
    expect(await taken.then(() => null, (error: NodeJS.ErrnoException) => error.code)).to.equal('EADDRINUSE'); // prettier-ignore
  });
});
