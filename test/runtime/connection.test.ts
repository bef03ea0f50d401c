import { expect } from 'chai';
import { WatchIdleError, type KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import { configMaps, CONFIGMAPS, openCluster, until, type ConfigMap, type TestCluster } from './cluster.ts';

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

  it('creates, reads, patches and deletes', async () => {
    const { connection } = cluster;
    const maps = configMaps(connection, namespace);
    await maps.create('a', 'Łódź');
    expect((await maps.get('a')).data).to.deep.equal({ value: 'Łódź' });
    const path = connection.path(CONFIGMAPS, namespace, 'a');
    const body = { data: { value: '2' } };
    expect((await connection.request<ConfigMap>('PATCH', path, { contentType: 'application/merge-patch+json', body })).data).to.deep.equal({
      value: '2',
    });
    await maps.remove('a');
    expect(await problemOf(maps.get('a'))).to.include({ code: 404, reason: 'NotFound' });
  });

  it('distinguishes AlreadyExists from Conflict', async () => {
    const { connection } = cluster;
    const maps = configMaps(connection, namespace);
    const first = await maps.create('b', '1');
    expect(await problemOf(maps.create('b', '1'))).to.include({ code: 409, reason: 'AlreadyExists' });
    await maps.set('b', '2');
    const stale = connection.request('PUT', connection.path(CONFIGMAPS, namespace, 'b'), { body: first });
    expect(await problemOf(stale)).to.include({ code: 409, reason: 'Conflict' });
  });

  it('reuses its connections', async () => {
    const { connection, proxy } = await cluster.breakable();
    for (let i = 0; i < 50; i++) await connection.request('GET', '/version');
    expect(proxy.opened).to.be.at.most(2);
  });

  it('drops all idle connections when one is dead', async () => {
    const { connection, proxy } = await cluster.breakable();
    await Promise.all(Array.from({ length: 5 }, () => connection.request('GET', '/version')));
    const before = proxy.opened;
    expect(before).to.be.greaterThan(2);
    proxy.freeze();
    expect(String(await problemOf(connection.request('GET', '/version', { timeoutMs: 500 })))).to.contain('was not answered within 0.5 s');
    proxy.thaw();
    await Promise.all(Array.from({ length: 5 }, () => connection.request('GET', '/version', { timeoutMs: 5000 })));
    expect(proxy.opened).to.be.greaterThan(before);
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

  it('honours time-out and signal while waiting for a connection', async () => {
    const { connection, proxy } = await cluster.breakable();
    proxy.freeze();
    const late = connection.request('GET', '/version', { timeoutMs: 500 });
    const aborted = connection.request('GET', '/version', { signal: AbortSignal.abort(new Error('canceled')) });
    expect(String(await problemOf(aborted))).to.equal('Error: canceled');
    expect(String(await problemOf(late))).to.contain('was not answered within 0.5 s');
  });

  it('throws ECONNREFUSED if the server cannot be reached', async () => {
    const { connection, proxy } = await cluster.breakable();
    await proxy.refuse();
    expect((await problemOf(connection.request('GET', '/version'))).code).to.equal('ECONNREFUSED');
  });
});
