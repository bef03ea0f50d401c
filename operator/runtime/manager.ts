/**
 * Runs controllers: starts the caches that they share, waits until these are synced, starts workers and periodic tasks,
 * and stops everything in the reverse order.
 *
 * Follows controller-runtime's manager, builder and sources (v0.24) at the size that is needed here: a controller is its
 * sources of keys, a gatherer, a pure planner, an executor and a number of workers.
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

/** A kind of objects to watch: resource, selectors, transform (`keep`) and indexes. */
export interface WatchedKind<T extends KubernetesObject> extends Omit<
  CacheOptions<T>,
  'connection' | 'logger' | 'clock' | 'metrics' | 'namespace'
> {
  /** Empty: all namespaces. */
  namespaces: readonly string[];
}

/** Enqueues keys from now on, when something happens that concerns them. @returns how to end it */
export type Source = (enqueue: (key: string) => void) => () => void;

/** A source that maps each change of a watched object to the keys of the objects to reconcile. */
export function watch<T extends KubernetesObject>(cache: Pick<Cache<T>, 'onChange'>, keysOf: (event: CacheEvent<T>) => string[]): Source {
  return (enqueue) => cache.onChange((event) => keysOf(event).forEach(enqueue));
}

export interface ControllerDefinition<Facts, Action> extends Planned<Facts, Action> {
  name: string;
  /** What its work queue is called in metrics. Default: the controller's name. */
  queueName?: string;
  sources: readonly Source[];
  /** How many keys are reconciled at the same time. */
  workers: number;
  /** The longest back-off of a failing key, in milliseconds. Default: the work queue's. */
  maxBackOffMs?: number;
}

/** Work that runs as soon as the caches are synced, and then again and again. */
export interface PeriodicTask {
  name: string;
  /** The pause between two runs, in milliseconds. */
  everyMs: number;
  /** A failure is logged; the next run tries again. */
  run(signal: AbortSignal): Promise<void>;
}

export interface Manager {
  /** Adds a cache of one kind, which all controllers may share. It is started by `run`. */
  watch<T extends KubernetesObject>(kind: WatchedKind<T>): Watched<T>;
  /** @returns what enqueues a key of this controller, for whatever is not one of its sources */
  add<Facts, Action>(definition: ControllerDefinition<Facts, Action>): (key: string) => void;
  addTask(task: PeriodicTask): void;
  /**
   * Runs until `stop` aborts and running work has finished. Call it once, after everything was added.
   * @param lost its abort also aborts running reconciles: nothing may be written any more
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
      const cachesOver = new AbortController();
      const unsubscribe = controllers.flatMap(({ definition, queue }) => definition.sources.map((source) => source(queue.add)));
      for (const cache of caches) cache.start(cachesOver.signal);
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
        // Last, because reconciles that finish read from the caches.
        for (const end of unsubscribe) end();
        cachesOver.abort();
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
