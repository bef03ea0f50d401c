import { expect } from 'chai';
import { jobNameOf, type KubernetesObject } from '../../core/protocol/custom-resources.ts';
import { EVENTS } from '../../operator/runtime/events.ts';
import type { KubernetesConnection, WatchEvent } from '../../platform/kubernetes/kubernetes.ts';
import { useContext, reasonOf, until } from './context.ts';

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

  it('learns why from three watches per namespace, however many scans there are', async () => {
    const { connection, gets } = withoutPods(context.connection);
    context.start({ maxRunning: 50 }, { connection });
    await context.setQueue({ maxStartingPerOrganisation: 50 });
    const scans = await Promise.all(Array.from({ length: 25 }, () => context.submit()));
    for (const scan of scans) await until(`Job ${jobNameOf(scan.id)} exists`, () => scan.job());
    for (const scan of scans) await fail('Job', (await scan.job())!, 'FailedCreate', 'pods "x" is forbidden: exceeded quota: tight');
    for (const scan of scans)
      await scan.reaches('reported as blocked by the quota', (read) => reasonOf(read, 'Succeeded') === 'QuotaExceeded');
    expect(gets.filter((path) => path.endsWith('/events'))).to.have.length(9);
  });

  for (const [event, message, reason] of [
    ['FailedCreatePodSandBox', 'Failed to create pod sandbox: the runtime does not support user namespaces', 'UserNamespacesUnavailable'],
    ['FailedMount', 'MountVolume.SetUp failed for volume "auth" : secret "sign-in" not found', 'SignInSecretMissing'],
  ] as const)
    it(`states what the kubelet reports of a pod as ${event}`, async () => {
      context.start();
      const scan = await context.submit({ auth: { secretRef: { name: 'sign-in' } } });
      await fail('Pod', await until('the pod exists', () => scan.pod()), event, message);
      await scan.reaches(`reported as ${reason}`, (read) => reasonOf(read, 'Succeeded') === reason);
    });
});
