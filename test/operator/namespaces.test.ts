import { expect } from 'chai';
import { KubernetesError, type KubernetesConnection, type WatchEvent } from '../../platform/kubernetes/kubernetes.ts';
import { conditionOf } from '../../operator/runtime/conditions.ts';
import { createOperatorMetrics } from '../../operator/metrics.ts';
import { useContext, statusOf, until, type OperatorContext, type Scan } from './context.ts';

/** A connection whose permissions in one namespace can be taken away and given back. */
interface Permissions {
  connection: KubernetesConnection;
  /** Also ends open watches, as the API server does after some minutes. */
  revoke(): void;
  /** As when a namespace has lost its Role: the operator may read and patch scans, and nothing else. */
  revokeAllButScans(): void;
  restore(): void;
}

function permissionsIn(namespace: string, connection: KubernetesConnection): Permissions {
  let revoked = new AbortController();
  let onlyScans = false;
  const isIn = (path: string) => path.includes(`/namespaces/${namespace}/`);
  const check = (path: string) => {
    const isScan = /\/accessibilityscans(\/[^/]*)?$/.test(path);
    if (isIn(path) && (revoked.signal.aborted || (onlyScans && !isScan)))
      throw new KubernetesError(403, 'Forbidden', 'the operator has no permissions here');
  };
  async function* watch<T>(path: string, options: Parameters<KubernetesConnection['watch']>[1]): AsyncGenerator<WatchEvent<T>> {
    check(path);
    const signal = isIn(path) ? AbortSignal.any([options.signal, revoked.signal]) : options.signal;
    try {
      for await (const event of connection.watch<T>(path, { ...options, signal })) yield event;
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    check(path);
  }
  return {
    connection: {
      ...connection,
      path: connection.path.bind(connection),
      async request<T>(...[method, path, options]: Parameters<KubernetesConnection['request']>): Promise<T> {
        check(path);
        return connection.request<T>(method, path, options);
      },
      watch,
    },
    revoke: () => revoked.abort(),
    revokeAllButScans: () => void (onlyScans = true),
    restore: () => void (revoked = new AbortController()),
  };
}

describe('operator: namespaces that it cannot read', function () {
  this.timeout(240_000);
  const context = useContext(beforeEach, afterEach);
  let permissions: Permissions;
  beforeEach(async () => {
    await context.grant(1000);
    permissions = permissionsIn(context.team, context.connection);
  });

  const start = (settings: Parameters<OperatorContext['start']>[0] = {}) => {
    const metrics = createOperatorMetrics();
    const operator = context.start(settings, { connection: permissions.connection, metrics });
    const readable = async () => (await metrics.registry.metrics()).match(/^curbcut_namespace_readable\{.*$/gm) ?? [];
    return { ...operator, readable };
  };
  const admitted = (scan: Scan) => scan.reaches('admitted', (read) => statusOf(read, 'Admitted') === 'True');
  const condition = async () => conditionOf((await context.queue())?.status?.conditions, 'NamespacesReadable');

  it('does not delay scans elsewhere if it is forbidden from the start, and reports it', async () => {
    permissions.revoke();
    const inTeam = await context.apply(context.team);
    const operator = start();
    const scan = await context.submit();
    await admitted(scan);
    await scan.pod();
    const reported = await until('the queue reports it', async () => ((await condition())?.status === 'False' ? condition() : null));
    expect(reported.message).to.contain(`in namespace ${context.team} (the operator has no permissions here)`);
    expect(await operator.readable()).to.have.members([
      `curbcut_namespace_readable{watched_namespace="${context.namespace}"} 1`,
      `curbcut_namespace_readable{watched_namespace="${context.team}"} 0`,
      `curbcut_namespace_readable{watched_namespace="${context.strangers}"} 1`,
    ]);
    expect(operator.lines.filter(({ message }) => message.startsWith('cannot read namespace'))).to.have.length(1);
    expect((await inTeam.read())?.status?.phase).to.equal(undefined);

    permissions.restore();
    await admitted(inTeam);
    await until('the queue reports it', async () => (await condition())?.status === 'True');
  });

  it('settles and releases deleted scans of a namespace that has lost its Role', async () => {
    const operator = context.start();
    const [running, queued] = [await context.apply(context.team), await context.apply(context.team)];
    await running.startPod(await running.pod());
    await running.reaches('crawling', ({ status }) => status?.phase === 'crawling');
    await admitted(queued);
    await operator.stop();
    permissions.revokeAllButScans();
    await running.remove();
    const { lines } = start();
    await until('the scan is gone', async () => (await running.read()) === null);
    // Also with a cache that was synced before.
    await queued.remove();
    await until('the other scan is gone', async () => (await queued.read()) === null);
    expect(await context.held()).to.equal(0);
    expect((await queued.row())?.phase).to.equal('canceled');
    expect(lines.filter(({ level }) => level === 'error')).to.deep.equal([]);
  });
});
