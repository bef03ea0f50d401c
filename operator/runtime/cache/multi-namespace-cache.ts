/** Combines the caches of several namespaces into one, for an operator without permission to watch all namespaces. */
import type { KubernetesObject } from '../../../core/protocol/custom-resources.ts';
import { createCache, type Cache, type CacheOptions } from './cache.ts';

export interface WatchOptions<T extends KubernetesObject> extends Omit<CacheOptions<T>, 'namespace' | 'onListed'> {
  /** As that of a reflector, with the namespace, which is empty for all namespaces. */
  onListed?: (namespace: string, error: unknown, failures: number) => void;
}

/** @param namespaces empty for all namespaces */
export function watchNamespaces<T extends KubernetesObject>(
  { onListed, ...options }: WatchOptions<T>,
  namespaces: readonly string[],
): Cache<T> {
  const listed = (namespace: string) => (error: unknown, failures: number) => onListed?.(namespace, error, failures);
  if (namespaces.length === 0) return createCache<T>({ ...options, onListed: listed('') });
  const caches = new Map(
    [...new Set(namespaces)].map((namespace) => [namespace, createCache<T>({ ...options, namespace, onListed: listed(namespace) })]),
  );
  const all = [...caches.values()];
  const together = (promises: Promise<void>[]): Promise<void> => {
    const every = Promise.all(promises).then(() => undefined);
    // Prevents an unhandled rejection if no caller awaits it.
    every.catch(() => undefined);
    return every;
  };
  return {
    start: (signal) => all.forEach((cache) => cache.start(signal)),
    synced: together(all.map((cache) => cache.synced)),
    stopped: together(all.map((cache) => cache.stopped)),
    get: (namespace, name) => caches.get(namespace)?.get(namespace, name),
    list: () => all.flatMap((cache) => cache.list()),
    byIndex: (name, value) => all.flatMap((cache) => cache.byIndex(name, value)),
    onChange(listener) {
      const ends = all.map((cache) => cache.onChange(listener));
      return () => ends.forEach((end) => end());
    },
  };
}
