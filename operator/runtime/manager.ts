/**
 * Runs controllers: starts their shared caches, workers and periodic tasks, and stops everything in reverse order. The
 * objects of a namespace are reconciled as soon as its own caches are synced, whatever the state of other namespaces.
 *
 * A reduced form of controller-runtime's manager, builder and sources (v0.24). A controller consists of sources of keys, a
 * function that reconciles a key, and a number of workers.
 */
import type { Logger } from '../../platform/logger.ts';
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';
import type { KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import { type Cache, type CacheEvent, type CacheOptions, watchNamespaces } from './cache.ts';
import type { Clock } from '../../platform/clock.ts';
import { runPeriodically, type PeriodicTask } from '../../platform/periodic.ts';
import { startController, type ControllerOptions, type Reconcile } from './controller.ts';
import { createNamespaceStates, type NamespaceStates } from './namespaces.ts';
import type { RuntimeMetrics } from './metrics.ts';
import { createResourceClient, type CustomResource, type ResourceClient } from './resource-client.ts';
import { createWorkqueue, type WorkQueue } from './workqueue.ts';

/** A kind of object to watch: resource, selectors, transform (`keep`) and indexes. */
export interface WatchedKind<T extends KubernetesObject> extends Omit<
  CacheOptions<T>,
  'connection' | 'logger' | 'clock' | 'metrics' | 'namespace'
> {
  /** Empty: all namespaces. */
  namespaces: readonly string[];
  /** Controllers do not wait for this cache, because they can do without it. Default false. */
  optional?: boolean;
}

/** Enqueues keys when their objects must be reconciled. @returns a function that stops it */
export type Source = (enqueue: (key: string) => void) => () => void;

/** Creates a source that maps each change of a watched object to the keys of the objects to reconcile. */
export function watch<T extends KubernetesObject>(cache: Pick<Cache<T>, 'onChange'>, keysOf: (event: CacheEvent<T>) => string[]): Source {
  return (enqueue) => cache.onChange((event) => keysOf(event).forEach(enqueue));
}

export interface ControllerDefinition extends Pick<ControllerOptions, 'name' | 'workers' | 'reconcile'> {
  /** The name of its workqueue in metrics. Default: the controller's name. */
  queueName?: string;
  sources: readonly Source[];
  /** The longest back-off of a failing key, in milliseconds. Default: that of the workqueue. */
  maxBackOffMs?: number;
  /** Returns whose key it is. The keys of one owner get a part of the workers at most. Default: no limit. */
  shareOf?(key: string): string;
  /** It reads objects of all namespaces, so it also waits until each one is synced or known to be unreadable. Default false. */
  acrossNamespaces?: boolean;
  /** Keys to reconcile also while the namespace is not readable, because they need no more than their own object. */
  isUrgent?(key: string): boolean;
}

export interface Manager {
  /** Adds a cache of one kind, which controllers can share. `run` starts it. */
  watch<T extends KubernetesObject>(kind: WatchedKind<T>): Cache<T>;
  /**
   * Adds a cache of a custom resource.
   * @returns a client that writes its objects, and whose reads include these writes before the cache receives them
   */
  watchResource<T extends CustomResource>(kind: WatchedKind<T>): ResourceClient<T>;
  /** Adds a controller. @returns a function that enqueues a key, for callers that are not one of its sources */
  add(definition: ControllerDefinition): (key: string) => void;
  /** Adds work that runs when each namespace is synced or known to be unreadable, and then periodically. */
  addTask(task: PeriodicTask): void;
  readonly namespaces: Pick<NamespaceStates, 'unreadable' | 'onChange'>;
  /**
   * Runs until `stop` aborts and running work has finished. Call it once, after adding everything.
   * @param lost aborts when the lease is lost; running reconciles are then aborted, because the process must not write any more
   */
  run(stop: AbortSignal, lost: AbortSignal): Promise<void>;
}

export interface ManagerDeps {
  connection: KubernetesConnection;
  logger: Logger;
  clock: Clock;
  metrics?: RuntimeMetrics;
}

/** The part of a controller's workers that one share holds at most. */
const SHARE_OF_WORKERS = 1 / 4;

/** The time after which a namespace whose first list has not arrived counts as unreadable, in milliseconds. */
const SYNC_WITHIN_MS = 15_000;

export function createManager(deps: ManagerDeps): Manager {
  const { clock, logger, metrics } = deps;
  const caches: Cache<KubernetesObject>[] = [];
  const controllers: { definition: ControllerDefinition; queue: WorkQueue }[] = [];
  const tasks: PeriodicTask[] = [];
  const states = createNamespaceStates(deps);

  function addCache<T extends KubernetesObject>({ namespaces: watched, optional = false, ...kind }: WatchedKind<T>): Cache<T> {
    const { plural } = kind.resource;
    const namespaces = [...new Set(watched)];
    if (!optional) for (const namespace of namespaces.length === 0 ? [''] : namespaces) states.add(namespace, plural);
    const report: WatchedKind<T>['onListed'] = (error, failures, namespace) => states.report(namespace, plural, error, failures);
    const cache = watchNamespaces<T>({ ...deps, ...kind, onListed: optional ? kind.onListed : report }, namespaces);
    caches.push(cache);
    return cache;
  }

  return {
    watch: addCache,
    watchResource<T extends CustomResource>(kind: WatchedKind<T>) {
      const cache = addCache<T>({ keep: withoutManagedFields, ...kind });
      return createResourceClient<T>({ connection: deps.connection, resource: kind.resource, cache });
    },
    add(definition) {
      const { name, queueName = name, maxBackOffMs: maxDelayMs, shareOf, workers } = definition;
      const perShare = shareOf && Math.ceil(workers * SHARE_OF_WORKERS);
      const queue = createWorkqueue({ clock, metrics, name: queueName, maxDelayMs, shareOf, perShare });
      controllers.push({ definition, queue });
      return queue.add;
    },
    addTask: (task) => void tasks.push(task),
    namespaces: states,
    async run(stop, lost) {
      const stopCaches = new AbortController();
      const unsubscribe = controllers.flatMap(({ definition, queue }) => definition.sources.map((source) => source(queue.add)));
      for (const cache of caches) cache.start(stopCaches.signal);
      const settled = states.settled(SYNC_WITHIN_MS, stop);
      void settled.then(() => {
        if (stop.aborted) return;
        const objects = caches.reduce((sum, cache) => sum + cache.list().length, 0);
        logger.info({ objects, unreadable: [...states.unreadable().keys()] }, 'caches synced');
      });
      try {
        const started = controllers.map(({ definition, queue }) =>
          startController({
            name: definition.name,
            workers: definition.workers,
            queue,
            reconcile: whenReadable(definition, queue, { states, settled, stop }),
            logger,
            clock,
            metrics,
            signal: lost,
          }),
        );
        const running = tasks.map(async (task) => {
          await settled;
          await runPeriodically(task, clock, logger, stop);
        });
        await aborted(stop);
        await Promise.all([...started.map((controller) => controller.stop()), ...running]);
      } finally {
        // Last, because running reconciles read from the caches.
        for (const end of unsubscribe) end();
        stopCaches.abort();
        await Promise.allSettled(caches.map((cache) => cache.stopped));
      }
    },
  };
}

/** Removes `managedFields`, which are as large as the rest of a custom resource. */
export function withoutManagedFields<T extends KubernetesObject>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function whenReadable(
  { reconcile, acrossNamespaces, isUrgent }: ControllerDefinition,
  queue: WorkQueue,
  { states, settled, stop }: { states: NamespaceStates; settled: Promise<void>; stop: AbortSignal },
): Reconcile {
  return async (key, signal) => {
    if (acrossNamespaces) {
      await settled;
      if (stop.aborted) return {};
    }
    if (states.isReadable(key) || isUrgent?.(key)) return reconcile(key, signal);
    states.hold(queue, key, () => queue.add(key));
    return {};
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
