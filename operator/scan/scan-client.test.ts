import { expect } from 'chai';
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import type { KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import { scanWith } from '../../test/support/scan-samples.ts';
import { createScanClient } from './scan-client.ts';

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
  const scanClient = createScanClient(connection, { get: () => cached, list: () => [cached] });
  return {
    scanClient,
    catchUp(scan: AccessibilityScan = server) {
      cached = scan;
      scanClient.seen(scan, false);
    },
    foreign(phase: 'failed') {
      server = { ...server, metadata: { ...server.metadata, resourceVersion: '9' }, status: { phase } };
      this.catchUp();
    },
  };
}

describe('scan scanClient', () => {
  const phase = (scanClient: ReturnType<typeof createScanClient>) => [
    scanClient.get('curbcut', 'x')?.status?.phase,
    scanClient.list()[0]?.status?.phase,
  ];

  it('knows its own writes before the cache does', async () => {
    const { scanClient, catchUp } = lagging();
    const first = await scanClient.patchStatus(scanClient.get('curbcut', 'x')!, { phase: 'crawling' });
    expect(phase(scanClient)).to.deep.equal(['crawling', 'crawling']);
    await scanClient.patchStatus(scanClient.get('curbcut', 'x')!, { phase: 'scanning' });
    expect(phase(scanClient)).to.deep.equal(['scanning', 'scanning']);
    catchUp(first);
    expect(phase(scanClient)).to.deep.equal(['scanning', 'scanning']);
    catchUp();
    expect(phase(scanClient)).to.deep.equal(['scanning', 'scanning']);
  });

  it("gives way to another's later write", async () => {
    const world = lagging();
    await world.scanClient.patchStatus(world.scanClient.get('curbcut', 'x')!, { phase: 'crawling' });
    world.foreign('failed');
    expect(phase(world.scanClient)).to.deep.equal(['failed', 'failed']);
  });
});
