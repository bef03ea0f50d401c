/**
 * Lists a resource and then watches it from the list's resourceVersion with bookmarks, for as long as it is asked to.
 *
 * Follows client-go's Reflector (v0.36): a watch that ends is resumed from the last version seen; a 410 or an ERROR event
 * leads to a new list; failures back off with jitter. Differences: the back-off ends at 5 s (client-go: 30 s, for which
 * the cache stays behind a server that is back); a watch on which nothing arrives for `idleMs` is dropped and resumed
 * (client-go leaves that to HTTP/2 pings).
 */
import type { Logger } from '../../platform/logger.ts';
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';
import {
  KubernetesError,
  WatchIdleError,
  type KubernetesConnection,
  type ResourceType,
  type WatchEvent,
} from '../../platform/kubernetes/kubernetes.ts';
import { sleep, type Clock } from './clock.ts';
import type { RuntimeMetrics, WatchRestart } from './metrics.ts';

export interface ReflectorOptions {
  connection: KubernetesConnection;
  resource: ResourceType;
  /** Default: all namespaces. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  logger: Logger;
  clock: Clock;
  metrics?: RuntimeMetrics;
  /** Objects per page. Default 500. */
  pageSize?: number;
  /** Drops a watch that is silent for so long, in milliseconds. Default 90,000: a server sends a bookmark about every minute. */
  idleMs?: number;
  /** Asks the server to end each watch after this time, in milliseconds, and up to as much again at random. Default 300,000. */
  watchMs?: number;
  /** The first and the longest wait after a failure, in milliseconds. Defaults 800 and 5,000. */
  backOff?: { baseMs: number; maxMs: number };
  random?: () => number;
}

/** What receives the objects. */
export interface ReflectorSink<T extends KubernetesObject> {
  /** What is kept of a listed object: applied page by page, because a whole list may be large. */
  keep(object: T): T;
  /** A whole list of kept objects: what is not in it is gone. */
  replace(objects: T[]): void;
  put(object: T): void;
  remove(object: T): void;
}

interface List<T> {
  metadata: { resourceVersion: string; continue?: string };
  apiVersion: string;
  kind: string;
  items: T[];
}

/** How a watch ended. */
interface End {
  reason: WatchRestart;
  /** What was missed can be learned only from a new list. */
  relist: boolean;
  /** The watch achieved nothing: the next try waits. */
  failed: boolean;
  /** Events came before the end: earlier failures are over. */
  heard: boolean;
  error?: unknown;
}

/** Lists and watches until the signal aborts. Never rejects. */
export async function runReflector<T extends KubernetesObject>(
  options: ReflectorOptions,
  sink: ReflectorSink<T>,
  signal: AbortSignal,
): Promise<void> {
  const { connection, clock, metrics, resource, logger, random = Math.random } = options;
  const { pageSize = 500, idleMs = 90_000, watchMs = 300_000, backOff = { baseMs: 800, maxMs: 5_000 } } = options;
  const path = connection.path(resource, options.namespace);
  const selectors = { labelSelector: options.labelSelector, fieldSelector: options.fieldSelector };

  /** Lists all pages of one snapshot. @returns the resourceVersion to watch from */
  async function list(): Promise<string> {
    const start = clock.monotonic();
    let objects: T[] = [];
    let limit: number | undefined = pageSize;
    let page: List<T> | null = null;
    do {
      const query: Record<string, string | number | undefined> = { ...selectors, limit, continue: page?.metadata.continue };
      try {
        page = await connection.request<List<T>>('GET', path, { query, signal, timeoutMs: 60_000 });
      } catch (error) {
        // The snapshot of the pages has expired (the server compacts every five minutes): list everything in one page.
        if (!(error instanceof KubernetesError && error.code === 410 && page)) throw error;
        [objects, limit, page] = [[], undefined, null];
        continue;
      }
      // List items of built-in resources have no apiVersion and kind; objects of a watch have.
      const [apiVersion, kind] = [page.apiVersion, page.kind.replace(/List$/, '')];
      for (const item of page.items)
        objects.push(sink.keep({ ...item, apiVersion: item.apiVersion ?? apiVersion, kind: item.kind ?? kind }));
    } while (!page || page.metadata.continue);
    sink.replace(objects);
    metrics?.listed(resource.plural, objects.length, (clock.monotonic() - start) / 1000);
    return page.metadata.resourceVersion;
  }

  /** Applies one event. @returns the version to resume from */
  function take(event: WatchEvent<T>): string {
    if (event.type === 'ERROR') {
      const status = event.object as unknown as { code?: number; reason?: string; message?: string };
      throw new KubernetesError(status.code ?? 500, status.reason ?? 'Unknown', status.message ?? 'the watch ended with an error');
    }
    if (event.type === 'DELETED') sink.remove(event.object);
    else if (event.type !== 'BOOKMARK') sink.put(event.object);
    const { resourceVersion } = event.object.metadata;
    if (!resourceVersion) throw new Error(`a watch event of ${resource.plural} has no resourceVersion`);
    return resourceVersion;
  }

  /** Watches from `version` until the watch ends. */
  async function watch(version: string): Promise<End & { version: string }> {
    const start = clock.monotonic();
    let heard = false;
    const barren = () => !heard && clock.monotonic() - start < 1000;
    const query = {
      ...selectors,
      watch: true,
      allowWatchBookmarks: true,
      resourceVersion: version,
      timeoutSeconds: Math.max(1, Math.round((watchMs * (1 + random())) / 1000)),
    };
    try {
      for await (const event of connection.watch<T>(path, { query, signal, idleMs })) {
        version = take(event);
        heard = true;
      }
      return { version, reason: 'closed', relist: false, failed: barren(), heard };
    } catch (error) {
      if (error instanceof WatchIdleError) return { version, reason: 'idle', relist: false, failed: !heard, heard, error };
      // After a 429, a 503 or a broken connection the version may still be valid. After any other error it may not.
      const refused = error instanceof KubernetesError && error.code !== 429 && error.code !== 503;
      const expired = refused && error.code === 410;
      return { version, reason: expired ? 'expired' : 'error', relist: refused, failed: expired ? barren() : true, heard, error };
    }
  }

  async function follow() {
    let version: string | null = null;
    let failures = 0;
    const pause = (error: unknown) => {
      const delay = Math.min(backOff.maxMs, backOff.baseMs * 2 ** Math.min(failures - 1, 30)) * (0.5 + random());
      const asked = error instanceof KubernetesError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
      return sleep(clock, Math.max(delay, asked), signal);
    };
    while (!signal.aborted) {
      let problem: unknown;
      try {
        version ??= await list();
        const end: End & { version: string } = await watch(version);
        if (signal.aborted) break;
        version = end.relist ? null : end.version;
        metrics?.watchRestarted(resource.plural, end.reason);
        logger.debug({ reason: end.reason, err: end.error }, 'resuming watch');
        failures = !end.failed ? 0 : end.heard ? 1 : failures + 1;
        problem = end.error;
      } catch (error) {
        if (signal.aborted) break;
        failures += 1;
        problem = error;
      }
      if (failures > 0) {
        // One failure is normal; a lasting one is logged once.
        if (failures === 3) logger.warn({ err: problem, failures }, 'cannot list and watch, retrying');
        await pause(problem);
      }
    }
  }

  await follow();
}
