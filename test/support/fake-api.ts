/** A fake of the part of the Kubernetes API that controllers use: objects of any kind in memory, with list, watch and status patch. */
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';
import {
  KubernetesError,
  type KubernetesConnection,
  type RequestOptions,
  type ResourceType,
  type WatchEvent,
} from '../../platform/kubernetes/kubernetes.ts';

export interface FakeApi {
  connection: KubernetesConnection;
  /** Creates or replaces an object and notifies every open watch of its kind and namespace. */
  put(type: ResourceType, object: KubernetesObject): void;
  get(type: ResourceType, namespace: string, name: string): KubernetesObject | undefined;
  /** Lists of these namespaces fail with 403. */
  forbidden: Set<string>;
  /** Lists of these paths fail with 403. */
  refuseList: (path: string) => boolean;
  /** Lists of these paths never answer. */
  hangList: (path: string) => boolean;
  /** The number of open watches. */
  readonly watches: number;
  /** The writes in order, as `verb path`. */
  writes: string[];
}

/** `plural/namespace/name/subresource`, without the parts that are empty. */
const pathOf = ({ plural }: ResourceType, namespace = '', name = '', subresource = ''): string =>
  [plural, namespace, name, subresource].filter((part) => part !== '').join('/');

/** Paths are those of `pathOf`. */
export function createFakeApi(): FakeApi {
  const objects = new Map<string, KubernetesObject>();
  const watchers = new Set<{ prefix: string; send: (event: WatchEvent<KubernetesObject>) => void }>();
  const forbidden = new Set<string>();
  const writes: string[] = [];
  let version = 100;

  function store(path: string, object: KubernetesObject): KubernetesObject {
    const type = objects.has(path) ? 'MODIFIED' : 'ADDED';
    const { uid = `uid-of-${object.metadata.name}` } = object.metadata;
    const stored = { ...structuredClone(object), metadata: { ...object.metadata, uid, resourceVersion: String(++version) } };
    objects.set(path, stored);
    for (const { prefix, send } of watchers) if (path.startsWith(prefix)) send({ type, object: structuredClone(stored) });
    return structuredClone(stored);
  }

  async function request(verb: string, path: string, { body, signal }: RequestOptions = {}): Promise<unknown> {
    signal?.throwIfAborted();
    // The response arrives in a later turn of the event loop, as from a network.
    await Promise.resolve();
    if (verb === 'GET') {
      if (fake.hangList(path)) await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
      if (forbidden.has(path.split('/')[1]!) || fake.refuseList(path)) throw new KubernetesError(403, 'Forbidden', 'forbidden');
      const items = [...objects].filter(([key]) => key.startsWith(path)).map(([, object]) => structuredClone(object));
      return { apiVersion: 'v1', kind: 'WidgetList', metadata: { resourceVersion: String(version) }, items };
    }
    writes.push(`${verb} ${path}`);
    const key = path.replace(/\/status$/, '');
    const current = objects.get(key) as (KubernetesObject & { status?: object }) | undefined;
    if (current === undefined) throw new KubernetesError(404, 'NotFound', 'not found');
    const { metadata, status } = body as { metadata: { resourceVersion: string }; status?: object };
    if (metadata.resourceVersion !== current.metadata.resourceVersion) throw new KubernetesError(409, 'Conflict', 'changed');
    return store(key, { ...current, status: { ...current.status, ...status } } as KubernetesObject);
  }

  async function* watch(path: string, { signal }: { signal: AbortSignal }): AsyncGenerator<WatchEvent<KubernetesObject>> {
    const queue: WatchEvent<KubernetesObject>[] = [];
    let wake = Promise.withResolvers<void>();
    const watcher = {
      prefix: path,
      send(event: WatchEvent<KubernetesObject>) {
        queue.push(event);
        wake.resolve();
      },
    };
    watchers.add(watcher);
    signal.addEventListener('abort', () => wake.resolve(), { once: true });
    try {
      while (!signal.aborted) {
        await wake.promise;
        wake = Promise.withResolvers();
        yield* queue.splice(0);
      }
    } finally {
      watchers.delete(watcher);
    }
  }

  const fake: FakeApi = {
    refuseList: () => false,
    hangList: () => false,
    connection: {
      namespace: 'default',
      path: pathOf,
      request,
      watch,
      close: async () => undefined,
    } as unknown as KubernetesConnection,
    put: (type, object) => void store(pathOf(type, object.metadata.namespace, object.metadata.name), object),
    get: (type, namespace, name) => objects.get(pathOf(type, namespace, name)),
    forbidden,
    get watches() {
      return watchers.size;
    },
    writes,
  };
  return fake;
}
