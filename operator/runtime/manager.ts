/**
 * Runs controllers: starts their shared caches, waits until these are synced, starts workers and periodic tasks, and stops
 * everything in reverse order.
 *
 * A reduced form of controller-runtime's manager, builder and sources (v0.24). A controller consists of sources of keys, a
 * gatherer, a pure planner, an executor and a number of workers.
 */
import type { Logger } from '../../platform/logger.ts';
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';
import type { KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import type { Cache, CacheEvent, CacheOptions } from './cache.ts';
import { sleep, type Clock } from './clock.ts';
import { startController } from './controller.ts';
import type { RuntimeMetrics } from './metrics.ts';
import { watchNamespaces, type Watched } from './multi-namespace-cache.ts';
import { createPlannedReconcile, type Planned } from './planned-reconcile.ts';
import { createWorkqueue, type WorkQueue } from './workqueue.ts';

/** A kind of object to watch: resource, selectors, transform (`keep`) and indexes. */
export interface WatchedKind<T extends KubernetesObject> extends Omit<
  CacheOptions<T>,
  'connection' | 'logger' | 'clock' | 'metrics' | 'namespace'
> {
  /** Empty: all namespaces. */
  namespaces: readonly string[];
}

/** Enqueues keys when their objects must be reconciled. @returns a function that stops it */
export type Source = (enqueue: (key: string) => void) => () => void;

/** Creates a source that maps each change of a watched object to the keys of the objects to reconcile. */
export function watch<T extends KubernetesObject>(cache: Pick<Cache<T>, 'onChange'>, keysOf: (event: CacheEvent<T>) => string[]): Source {
  return (enqueue) => cache.onChange((event) => keysOf(event).forEach(enqueue));
}

export interface ControllerDefinition<Facts, Action> extends Planned<Facts, Action> {
  name: string;
  /** The name of its workqueue in metrics. Default: the controller's name. */
  queueName?: string;
  sources: readonly Source[];
  /** The number of keys reconciled concurrently. */
  workers: number;
  /** The longest back-off of a failing key, in milliseconds. Default: that of the workqueue. */
  maxBackOffMs?: number;
}

/** Work that runs when the caches are synced, and then periodically. */
export interface PeriodicTask {
  name: string;
  /** The pause between two runs, in milliseconds. */
  everyMs: number;
  /** A failure is logged, and the next run retries. */
  run(signal: AbortSignal): Promise<void>;
}

export interface Manager {
  /** Adds a cache of one kind, which controllers can share. `run` starts it. */
  watch<T extends KubernetesObject>(kind: WatchedKind<T>): Watched<T>;
  /** Adds a controller. @returns a function that enqueues a key, for callers that are not one of its sources */
  add<Facts, Action>(definition: ControllerDefinition<Facts, Action>): (key: string) => void;
  addTask(task: PeriodicTask): void;
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

interface Registered {
  definition: ControllerDefinition<unknown, unknown>;
  queue: WorkQueue;
}

export function createManager(deps: ManagerDeps): Manager {
  const { clock, logger, metrics } = deps;
  const caches: Watched<KubernetesObject>[] = [];
  const controllers: Registered[] = [];
  const tasks: PeriodicTask[] = [];

  return {
    watch<T extends KubernetesObject>({ namespaces, ...kind }: WatchedKind<T>) {
      const cache = watchNamespaces<T>({ ...deps, ...kind }, namespaces);
      caches.push(cache as unknown as Watched<KubernetesObject>);
      return cache;
    },
    add(definition) {
      const queue = createWorkqueue({ clock, metrics, name: definition.queueName ?? definition.name, maxDelayMs: definition.maxBackOffMs });
      controllers.push({ definition: definition as Registered['definition'], queue });
      return queue.add;
    },
    addTask: (task) => void tasks.push(task),
    async run(stop, lost) {
      const stopCaches = new AbortController();
      const unsubscribe = controllers.flatMap(({ definition, queue }) => definition.sources.map((source) => source(queue.add)));
      for (const cache of caches) cache.start(stopCaches.signal);
      try {
        if (!(await syncedBefore(stop, caches))) return;
        logger.info({ objects: caches.reduce((sum, cache) => sum + cache.list().length, 0) }, 'caches synced');
        const started = controllers.map(({ definition, queue }) =>
          startController({
            name: definition.name,
            workers: definition.workers,
            queue,
            reconcile: createPlannedReconcile(definition),
            logger,
            clock,
            metrics,
            signal: lost,
          }),
        );
        const running = tasks.map((task) => runPeriodically(task, clock, logger, stop));
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

/** @returns false if `stop` aborted first */
async function syncedBefore(stop: AbortSignal, caches: readonly Watched<KubernetesObject>[]): Promise<boolean> {
  await Promise.race([Promise.all(caches.map((cache) => cache.synced)), aborted(stop)]);
  return !stop.aborted;
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

async function runPeriodically(task: PeriodicTask, clock: Clock, logger: Logger, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    try {
      await task.run(stop);
    } catch (error) {
      if (!stop.aborted) logger.warn({ err: error, task: task.name }, 'periodic task failed, retrying');
    }
    await sleep(clock, task.everyMs, stop);
  }
}
