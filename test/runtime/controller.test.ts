import { expect } from 'chai';
import { createCache, fromKey, keyOf } from '../../operator/runtime/cache.ts';
import { systemClock } from '../../platform/clock.ts';
import { startController } from '../../operator/runtime/controller.ts';
import type { ReconcileResult } from '../../operator/runtime/metrics.ts';
import { createWorkqueue } from '../../operator/runtime/workqueue.ts';
import { configMaps, CONFIGMAPS, useCluster, until, type ConfigMap } from './cluster.ts';
import { createFakeLogger } from '../support/fake-logger.ts';
import { unobservedMetrics } from '../support/unobserved-metrics.ts';

describe('controller, against a Kubernetes API', () => {
  const cluster = useCluster();

  it('reconciles every object despite cut connections, an outage and concurrent writes', async () => {
    const namespace = await cluster.namespace();
    const { connection, proxy } = await cluster.breakable();
    const maps = configMaps(cluster.connection, namespace);
    const logger = createFakeLogger();
    const stop = new AbortController();
    const results: ReconcileResult[] = [];
    const cache = createCache<ConfigMap>({
      connection,
      resource: CONFIGMAPS,
      namespace,
      labelSelector: 'test=runtime',
      logger,
      clock: systemClock,
      idleMs: 2000,
      backOff: { baseMs: 50, maxMs: 300 },
    });
    const queue = createWorkqueue({ clock: systemClock, baseDelayMs: 20, maxDelayMs: 500 });
    cache.onChange(({ object }) => queue.add(keyOf(object)));
    cache.start(stop.signal);
    const busy = new Set<string>();
    const controller = startController({
      name: 'copy',
      queue,
      workers: 4,
      logger,
      metrics: {
        ...unobservedMetrics,
        reconciled: (_, result) => void results.push(result),
      },
      /** Copies `value` to `done`. */
      async reconcile(key, signal) {
        expect(busy.has(key), `${key} is reconciled twice at once`).to.equal(false);
        busy.add(key);
        try {
          const { namespace, name } = fromKey(key);
          const map = cache.get(namespace, name);
          if (!map || map.data?.['done'] === map.data?.['value']) return;
          await connection.request('PUT', connection.path(CONFIGMAPS, namespace, name), {
            body: { ...map, data: { ...map.data, done: map.data?.['value'] } },
            signal,
            timeoutMs: 2000,
          });
        } finally {
          busy.delete(key);
        }
      },
    });

    const names = Array.from({ length: 20 }, (_, i) => `m${i}`);
    await Promise.all(names.map((name) => maps.create(name, '0')));
    for (let round = 1; round <= 6; round++) {
      if (round === 2) proxy.cut();
      if (round === 3) await proxy.refuse();
      if (round === 4) await proxy.accept();
      if (round === 5) {
        proxy.freeze();
        proxy.thaw();
      }
      await Promise.all(names.map((name) => maps.set(name, String(round))));
    }
    await until('all objects are reconciled', async () => {
      const all = await Promise.all(names.map((name) => maps.get(name)));
      return all.every(({ data }) => data?.['value'] === '6' && data['done'] === '6');
    });
    await controller.stop();
    stop.abort();
    await cache.stopped;
    expect(results).to.include('success');
  });
});
