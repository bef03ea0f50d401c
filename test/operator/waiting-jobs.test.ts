import { expect } from 'chai';
import { jobNameOf, type KubernetesObject } from '../../core/protocol/custom-resources.ts';
import { EVENTS } from '../../operator/runtime/events.ts';
import type { KubernetesConnection, WatchEvent } from '../../platform/kubernetes/kubernetes.ts';
import { useContext, reasonOf, until } from './context.ts';

/** The connection of an operator for whose Jobs no pod is created, with the paths of its GET requests. */
function withoutPods(connection: KubernetesConnection): { connection: KubernetesConnection; gets: string[]; watches: Set<string> } {
  const gets: string[] = [];
  const watches = new Set<string>();
  async function* watch<T>(path: string, options: Parameters<KubernetesConnection['watch']>[1]): AsyncGenerator<WatchEvent<T>> {
    watches.add(`${path} ${String(options.query['fieldSelector'])}`);
    for await (const event of connection.watch<T>(path, options)) if (!path.endsWith('/pods') || event.type === 'BOOKMARK') yield event;
  }
  return {
    gets,
    watches,
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

describe('operator: Jobs whose pods do not start', function () {
  this.timeout(240_000);
  const context = useContext(beforeEach, afterEach);
  beforeEach(() => context.grant(1000));

  /** Records an Event as the Job controller and the kubelet do. */
  async function fail(kind: 'Job' | 'Pod', object: KubernetesObject, reason: string, message: string): Promise<void> {
    const { connection } = context;
    const { name, namespace, uid } = object.metadata;
    await connection.request('POST', connection.path(EVENTS, namespace), {
      body: {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: `${name}.1`, namespace },
        involvedObject: { apiVersion: kind === 'Job' ? 'batch/v1' : 'v1', kind, namespace, name, uid },
        type: 'Warning',
        reason,
        message,
        lastTimestamp: new Date().toISOString(),
      },
    });
  }

  it('learns why from three watches per namespace, and not from one for each scan', async () => {
    const { connection, gets, watches } = withoutPods(context.connection);
    context.start({ maxRunning: 5 }, { connection });
    await context.setQueue({ maxStartingPerOrganisation: 5 });
    const scans = await Promise.all(Array.from({ length: 5 }, () => context.submit()));
    for (const scan of scans) await until(`Job ${jobNameOf(scan.id)} exists`, () => scan.job());
    for (const scan of scans) await fail('Job', (await scan.job())!, 'FailedCreate', 'pods "x" is forbidden: exceeded quota: tight');
    for (const scan of scans)
      await scan.reaches('reported as blocked by the quota', (read) => reasonOf(read, 'Succeeded') === 'QuotaExceeded');
    expect(gets.filter((path) => path.endsWith('/events'))).to.have.length(9);
    // Those of docs/sizing.md.
    expect([...watches].filter((path) => path.includes(`/namespaces/${context.team}/`))).to.have.length(9);
    expect(watches.size).to.equal(3 * 9 + 1);
  });
});
