import { expect } from 'chai';
import { jobNameOf } from '../../core/protocol/custom-resources.ts';
import { EVENTS } from '../../operator/scan/kube-types.ts';
import type { KubernetesConnection, WatchEvent } from '../../platform/kubernetes/kubernetes.ts';
import { useContext, reasonOf, until, type Scan } from './context.ts';

/** The connection of an operator for whose Jobs no pod is created, with the paths of its GET requests. */
function withoutPods(connection: KubernetesConnection): { connection: KubernetesConnection; gets: string[] } {
  const gets: string[] = [];
  async function* watch<T>(path: string, options: Parameters<KubernetesConnection['watch']>[1]): AsyncGenerator<WatchEvent<T>> {
    for await (const event of connection.watch<T>(path, options)) if (!path.endsWith('/pods') || event.type === 'BOOKMARK') yield event;
  }
  return {
    gets,
    connection: {
      ...connection,
      path: connection.path.bind(connection),
      async request<T>(...[method, path, options]: Parameters<KubernetesConnection['request']>): Promise<T> {
        if (method === 'GET') gets.push(path);
        const answer = await connection.request<T>(method, path, options);
        return method === 'GET' && path.endsWith('/pods') ? { ...answer, items: [] } : answer;
      },
      watch,
    },
  };
}

describe('operator: Jobs without a pod', function () {
  this.timeout(240_000);
  const context = useContext(beforeEach, afterEach);
  beforeEach(() => context.grant(1000));

  /** Records an Event as the Job controller does. */
  async function fail(scan: Scan, message: string): Promise<void> {
    const { connection } = context;
    const job = (await scan.job())!;
    await connection.request('POST', connection.path(EVENTS, scan.namespace), {
      body: {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: `${job.metadata.name}.1`, namespace: scan.namespace },
        involvedObject: { apiVersion: 'batch/v1', kind: 'Job', namespace: scan.namespace, name: job.metadata.name, uid: job.metadata.uid },
        type: 'Warning',
        reason: 'FailedCreate',
        message,
        lastTimestamp: new Date().toISOString(),
      },
    });
  }

  it('learns why from one watch per namespace, however many there are', async () => {
    const { connection, gets } = withoutPods(context.connection);
    context.start({ maxRunning: 50 }, { connection });
    await context.setQueue({ maxStartingPerOrganisation: 50 });
    const scans = await Promise.all(Array.from({ length: 25 }, () => context.submit()));
    for (const scan of scans) await until(`Job ${jobNameOf(scan.id)} exists`, () => scan.job());
    for (const scan of scans) await fail(scan, 'pods "x" is forbidden: exceeded quota: tight');
    for (const scan of scans)
      await scan.reaches('reported as blocked by the quota', (read) => reasonOf(read, 'Succeeded') === 'QuotaExceeded');
    expect(gets.filter((path) => path.endsWith('/events'))).to.have.length(3);
  });
});
