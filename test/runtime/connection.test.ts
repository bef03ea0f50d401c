import { expect } from 'chai';
import { WatchIdleError, type KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import { configMaps, CONFIGMAPS, openCluster, until, type TestCluster } from './cluster.ts';

describe('connection, against a Kubernetes API', () => {
  let cluster: TestCluster;
  let namespace: string;
  before(async () => {
    cluster = await openCluster();
    namespace = await cluster.namespace();
  });
  after(() => cluster.close());

  const problemOf = (promise: Promise<unknown>) =>
    promise.then(
      () => expect.fail('expected a failure'),
      (error: unknown) => error as KubernetesError,
    );

  it('distinguishes AlreadyExists from Conflict', async () => {
    const { connection } = cluster;
    const maps = configMaps(connection, namespace);
    const first = await maps.create('b', '1');
    expect(await problemOf(maps.create('b', '1'))).to.include({ code: 409, reason: 'AlreadyExists' });
    await maps.set('b', '2');
    const stale = connection.request('PUT', connection.path(CONFIGMAPS, namespace, 'b'), { body: first });
    expect(await problemOf(stale)).to.include({ code: 409, reason: 'Conflict' });
  });

  it('ends a watch if a request finds the connection dead, before the idle limit of the watch', async () => {
    const { connection, proxy } = await cluster.breakable();
    const opened = Promise.withResolvers<void>();
    const watch = (async () => {
      const options = { query: { resourceVersion: '0' }, signal: new AbortController().signal, idleMs: 600_000 };
      for await (const { type } of connection.watch(connection.path(CONFIGMAPS), options)) if (type === 'ADDED') opened.resolve();
    })();
    watch.catch(opened.reject);
    await configMaps(cluster.connection, namespace).create('watched', '1');
    await opened.promise;
    proxy.freeze();
    let ended: unknown;
    watch.catch((error: unknown) => (ended = error));
    // Data in flight may still arrive after the first request was sent, but not after the second.
    await until('the watch ends', async () => {
      await problemOf(connection.request('GET', '/version', { timeoutMs: 500 }));
      return ended;
    });
    expect(ended).to.be.instanceOf(WatchIdleError);
  });
});
