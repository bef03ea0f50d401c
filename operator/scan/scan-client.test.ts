import { expect } from 'chai';
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import type { KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import { scanWith } from '../../test/operator/samples.ts';
import { createScanBook } from './scan-client.ts';

/** A server that takes every patch of a status, and a cache that lags behind it. */
function lagging() {
  let server = scanWith({ phase: 'queued' });
  let cached = server;
  const connection = {
    path: () => '/scan',
    request: async (_method: string, _path: string, { body }: { body: { status: object } }) => {
      const resourceVersion = String(Number(server.metadata.resourceVersion) + 1);
      server = { ...server, metadata: { ...server.metadata, resourceVersion }, status: { ...server.status, ...body.status } };
      return server;
    },
  } as unknown as KubernetesConnection;
  const book = createScanBook(connection, { get: () => cached, list: () => [cached] });
  return {
    book,
    catchUp(scan: AccessibilityScan = server) {
      cached = scan;
      book.seen(scan, false);
    },
    foreign(phase: 'failed') {
      server = { ...server, metadata: { ...server.metadata, resourceVersion: '9' }, status: { phase } };
      this.catchUp();
    },
  };
}

describe('scan book', () => {
  const phase = (book: ReturnType<typeof createScanBook>) => [book.get('curbcut', 'x')?.status?.phase, book.list()[0]?.status?.phase];

  it('knows its own writes before the cache does', async () => {
    const { book, catchUp } = lagging();
    const first = await book.patchStatus(book.get('curbcut', 'x')!, { phase: 'crawling' });
    expect(phase(book)).to.deep.equal(['crawling', 'crawling']);
    await book.patchStatus(book.get('curbcut', 'x')!, { phase: 'scanning' });
    expect(phase(book)).to.deep.equal(['scanning', 'scanning']);
    catchUp(first);
    expect(phase(book)).to.deep.equal(['scanning', 'scanning']);
    catchUp();
    expect(phase(book)).to.deep.equal(['scanning', 'scanning']);
  });

  it("gives way to another's later write", async () => {
    const world = lagging();
    await world.book.patchStatus(world.book.get('curbcut', 'x')!, { phase: 'crawling' });
    world.foreign('failed');
    expect(phase(world.book)).to.deep.equal(['failed', 'failed']);
  });
});
