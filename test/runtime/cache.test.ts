import { expect } from 'chai';
import { createCache, type Cache, type CacheEvent, type CacheOptions } from '../../operator/runtime/cache.ts';
import { systemClock } from '../../platform/clock.ts';
import type { WatchRestart } from '../../operator/runtime/metrics.ts';
import type { KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import { configMaps, CONFIGMAPS, useCluster, until, type ConfigMap } from './cluster.ts';
import { createFakeLogger } from '../support/fake-logger.ts';
import { unobservedMetrics } from '../support/unobserved-metrics.ts';

describe('cache, against a Kubernetes API', () => {
  const cluster = useCluster();
  let namespace: string;
  let maps: ReturnType<typeof configMaps>;
  const stops: (() => Promise<void>)[] = [];

  beforeEach(async () => {
    namespace = await cluster.namespace();
    maps = configMaps(cluster.connection, namespace);
  });
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
  });

  function follow(connection: KubernetesConnection, options: Partial<CacheOptions<ConfigMap>> = {}) {
    const restarts: WatchRestart[] = [];
    const emitted: string[] = [];
    const logger = createFakeLogger();
    const cache: Cache<ConfigMap> = createCache<ConfigMap>({
      connection,
      resource: CONFIGMAPS,
      namespace,
      labelSelector: 'test=runtime',
      logger,
      clock: systemClock,
      backOff: { baseMs: 50, maxMs: 200 },
      metrics: {
        ...unobservedMetrics,
        watchRestarted: (_, reason) => void restarts.push(reason),
      },
      ...options,
    });
    cache.onChange(({ type, object }: CacheEvent<ConfigMap>) => emitted.push(`${type} ${object.metadata.name}=${object.data?.['value']}`));
    const stop = new AbortController();
    stops.push(async () => {
      stop.abort();
      await cache.stopped;
    });
    cache.start(stop.signal);
    return { cache, emitted, restarts, logger };
  }

  it('lists page by page, then follows changes', async () => {
    for (let i = 0; i < 7; i++) await maps.create(`m${i}`, 'old');
    const { cache, emitted } = follow(cluster.connection, { pageSize: 3, indexes: { value: (o) => Object.values(o.data ?? {}) } });
    await cache.synced;
    expect(emitted).to.have.members(Array.from({ length: 7 }, (_, i) => `added m${i}=old`));
    expect(cache.get(namespace, 'm3')).to.include({ apiVersion: 'v1', kind: 'ConfigMap' });
    emitted.length = 0;
    await maps.set('m1', 'new');
    await maps.create('m7', 'fresh');
    await maps.remove('m2');
    await until('all three changes are seen', () => emitted.length >= 3);
    expect(emitted).to.deep.equal(['modified m1=new', 'added m7=fresh', 'deleted m2=old']);
    expect(cache.byIndex('value', 'old').map(({ metadata }) => metadata.name)).to.have.members(['m0', 'm3', 'm4', 'm5', 'm6']);
    expect(cache.byIndex('value', 'new').map(({ metadata }) => metadata.name)).to.deep.equal(['m1']);
    expect(cache.list().length).to.equal(7);
  });

  it('holds only objects that match its selector, also when labels change', async () => {
    const others = configMaps(cluster.connection, namespace, { test: 'other' });
    await others.create('other', 'x');
    const { cache, emitted } = follow(cluster.connection);
    await cache.synced;
    const label = (name: string, test: string) =>
      cluster.connection.request('PATCH', cluster.connection.path(CONFIGMAPS, namespace, name), {
        contentType: 'application/merge-patch+json',
        body: { metadata: { labels: { test } } },
      });
    await label('other', 'runtime');
    await label('other', 'other');
    await until('the object is added and deleted', () => emitted.length >= 2);
    expect(emitted).to.deep.equal(['added other=x', 'deleted other=x']);
  });

  it('resumes a watch whose connection is dead without missing changes', async () => {
    const { connection, proxy } = await cluster.breakable();
    await maps.create('gone', '1');
    await maps.create('kept', '1');
    const { cache, emitted, restarts } = follow(connection, { idleMs: 1000 });
    await cache.synced;
    await maps.set('kept', '2');
    await until('the watch is alive', () => emitted.includes('modified kept=2'));
    proxy.freeze();
    await maps.set('kept', '3');
    await maps.remove('gone');
    await maps.create('new', '1');
    proxy.thaw();
    await until('the cache has caught up', () => cache.get(namespace, 'new'));
    expect(emitted.slice(-3)).to.deep.equal(['modified kept=3', 'deleted gone=1', 'added new=1']);
    expect(restarts).to.include('idle');
  });

  it('keeps its objects while the API server is down and catches up afterwards', async () => {
    const { connection, proxy } = await cluster.breakable();
    await maps.create('gone', '1');
    await maps.create('kept', '1');
    const { cache, emitted, logger } = follow(connection);
    await cache.synced;
    await proxy.refuse();
    await maps.remove('gone');
    await maps.set('kept', '2');
    await until('the failure is logged', () => logger.lines.some(({ level }) => level === 'warn'));
    expect(cache.get(namespace, 'gone')?.data).to.deep.equal({ value: '1' });
    await proxy.accept();
    await until('the cache has caught up', () => cache.get(namespace, 'kept')?.data?.['value'] === '2' && !cache.get(namespace, 'gone'));
    expect(emitted.filter((line) => line.startsWith('added')).length).to.equal(2);
    expect(logger.lines.filter(({ level }) => level === 'warn').length).to.equal(1);
  });
});
