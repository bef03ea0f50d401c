/**
 * Lists a resource and then watches it from the list's resourceVersion with bookmarks, until it is stopped.
 *
 * Follows client-go's Reflector (v0.36). An ended watch is resumed from the last resourceVersion; a 410 or an ERROR event
 * causes a new list; failures back off with jitter. Differences:
 * - the maximum back-off is 5 s (client-go: 30 s, during which the cache is stale although the server is available again)
 * - a watch without data for `idleMs` is dropped and resumed (client-go relies on HTTP/2 pings)
 */
import type { Logger } from '../../platform/logger.ts';
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';
import {
  hasCode,
  KubernetesError,
  WatchIdleError,
  type KubernetesConnection,
  type ResourceType,
  type WatchEvent,
} from '../../platform/kubernetes/kubernetes.ts';
import { sleep, type Clock } from '../../platform/clock.ts';
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
  /**
   * Drops a watch without data for this time, in milliseconds. Default 90,000, because the server sends a bookmark about every minute.
   * It sends none on watches of Events, nor of a kind that has not changed since its start: until the first one, watches end earlier.
   */
  idleMs?: number;
  /** Asks the server to end each watch after a random time between this and twice this, in milliseconds. Default 300,000. */
  watchMs?: number;
  /** The first and the maximum back-off after a failure, in milliseconds. Default 800 and 5,000. */
  backOff?: { baseMs: number; maxMs: number };
  random?: () => number;
  /**
   * Called after each list: with null if it succeeded, else with the error and the number of failures in a row.
   * The namespace is empty for all namespaces.
   */
  onListed?: (error: unknown, failures: number, namespace: string) => void;
}

export interface ReflectorSink<T extends KubernetesObject> {
  /** Transforms a listed object. Applied page by page, because a whole list may be large. */
  keep(object: T): T;
  /** Receives a complete list of transformed objects. Objects that are not in it are deleted. */
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

interface End {
  reason: WatchRestart;
  /** The missed changes require a new list. */
  relist: boolean;
  /** The watch counts as a failure, so that the next attempt backs off. */
  failed: boolean;
  /** The watch received events, which ends earlier failures. */
  receivedEvents: boolean;
  error?: unknown;
}

/** What a watch starts from. `bookmarked`: the server sends bookmarks on watches of this kind. */
interface From {
  version: string;
  bookmarked: boolean;
}

/** Lists and watches until the signal aborts. Never rejects. */
export async function runReflector<T extends KubernetesObject>(
  options: ReflectorOptions,
  sink: ReflectorSink<T>,
  signal: AbortSignal,
): Promise<void> {
  const { clock, metrics, resource, logger, random = Math.random, backOff = { baseMs: 800, maxMs: 5_000 } } = options;

  let version: string | null = null;
  let failures = 0;
  let bookmarked = false;
  const pause = (error: unknown) => {
    const delay = Math.min(backOff.maxMs, backOff.baseMs * 2 ** Math.min(failures - 1, 30)) * (0.5 + random());
    const asked = error instanceof KubernetesError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
    return sleep(clock, Math.max(delay, asked), signal);
  };
  while (!signal.aborted) {
    let problem: unknown;
    try {
      if (version === null) {
        version = await list(options, sink, signal);
        options.onListed?.(null, 0, options.namespace ?? '');
      }
      const end: End & From = await watch({ version, bookmarked }, options, sink, signal);
      if (signal.aborted) break;
      version = end.relist ? null : end.version;
      ({ bookmarked } = end);
      metrics?.watchRestarted(resource.plural, end.reason);
      logger.debug({ reason: end.reason, err: end.error }, 'resuming watch');
      failures = !end.failed ? 0 : end.receivedEvents ? 1 : failures + 1;
      problem = end.error;
    } catch (error) {
      if (signal.aborted) break;
      // Only `list` throws.
      failures += 1;
      problem = error;
      options.onListed?.(error, failures, options.namespace ?? '');
    }
    if (failures > 0) {
      // A single failure is normal. A persistent one is logged once.
      if (failures === 3) logger.warn({ err: problem, failures }, 'cannot list and watch, retrying');
      await pause(problem);
    }
  }
}

function targetOf({ connection, resource, namespace, labelSelector, fieldSelector }: ReflectorOptions) {
  return [connection.path(resource, namespace), { labelSelector, fieldSelector }] as const;
}

/** Lists all pages of one snapshot. @returns the resourceVersion to watch from */
async function list<T extends KubernetesObject>(options: ReflectorOptions, sink: ReflectorSink<T>, signal: AbortSignal): Promise<string> {
  const { connection, clock, metrics, resource, pageSize = 500 } = options;
  const [path, selectors] = targetOf(options);
  const start = clock.monotonic();
  let objects: T[] = [];
  let limit: number | undefined = pageSize;
  let page: List<T> | null = null;
  do {
    const query: Record<string, string | number | undefined> = { ...selectors, limit, continue: page?.metadata.continue };
    try {
      page = await connection.request<List<T>>('GET', path, { query, signal, timeoutMs: 60_000, sockets: 'lists' });
    } catch (error) {
      // The snapshot of the pages has expired, because the server compacts every five minutes. List everything in one page.
      if (!(hasCode(error, 410) && page)) throw error;
      [objects, limit, page] = [[], undefined, null];
      continue;
    }
    // List items of built-in resources have no apiVersion and kind; watched objects have them.
    const [apiVersion, kind] = [page.apiVersion, page.kind.replace(/List$/, '')];
    for (const item of page.items) objects.push(sink.keep({ ...item, apiVersion: item.apiVersion ?? apiVersion, kind: item.kind ?? kind }));
  } while (!page || page.metadata.continue);
  sink.replace(objects);
  metrics?.listed(resource.plural, (clock.monotonic() - start) / 1000);
  return page.metadata.resourceVersion;
}

/** Applies one event. @returns the resourceVersion to resume from */
function take<T extends KubernetesObject>(event: WatchEvent<T>, sink: ReflectorSink<T>, resource: ResourceType): string {
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

async function watch<T extends KubernetesObject>(
  { version, bookmarked }: From,
  options: ReflectorOptions,
  sink: ReflectorSink<T>,
  signal: AbortSignal,
): Promise<End & From> {
  const { connection, clock, resource, random = Math.random, idleMs = 90_000, watchMs = 300_000 } = options;
  const [path, selectors] = targetOf(options);
  const start = clock.monotonic();
  let receivedEvents = false;
  const endedAtOnce = () => !receivedEvents && clock.monotonic() - start < 1000;
  // A watch without bookmarks may be silent for as long as nothing happens: it ends before it counts as idle.
  const endsAfterMs = bookmarked ? watchMs * (1 + random()) : Math.min(watchMs, idleMs * (0.6 + 0.3 * random()));
  const query = {
    ...selectors,
    watch: true,
    allowWatchBookmarks: true,
    resourceVersion: version,
    timeoutSeconds: Math.max(1, Math.round(endsAfterMs / 1000)),
  };
  try {
    for await (const event of connection.watch<T>(path, { query, signal, idleMs })) {
      version = take(event, sink, resource);
      bookmarked ||= event.type === 'BOOKMARK';
      receivedEvents = true;
    }
    return { version, bookmarked, reason: 'closed', relist: false, failed: endedAtOnce(), receivedEvents };
  } catch (error) {
    // Backs off in any case: when the server stops responding, all watches end at once, and must not resume at once.
    if (error instanceof WatchIdleError) return { version, bookmarked, reason: 'idle', relist: false, failed: true, receivedEvents, error };
    // After a 429, a 503 or a broken connection the resourceVersion may still be valid. Any other error requires a new list.
    const refused = error instanceof KubernetesError && error.code !== 429 && error.code !== 503;
    const expired = refused && error.code === 410;
    return {
      version,
      bookmarked,
      reason: expired ? 'expired' : 'error',
      relist: refused,
      failed: expired ? endedAtOnce() : true,
      receivedEvents,
      error,
    };
  }
}
