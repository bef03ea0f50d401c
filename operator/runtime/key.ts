/** The key of an object in a queue or a cache, as in client-go's `MetaNamespaceKeyFunc`. */
import type { KubernetesObject } from '../../core/protocol/custom-resources.ts';

/** `namespace/name`, or `name` for cluster-scoped objects. */
export function keyOf(object: KubernetesObject): string {
  return toKey(object.metadata.namespace, object.metadata.name);
}

export function toKey(namespace: string | undefined, name: string): string {
  return namespace ? `${namespace}/${name}` : name;
}

/** The reverse of `toKey`. `namespace` is empty for cluster-scoped objects. */
export function fromKey(key: string): { namespace: string; name: string } {
  const slash = key.indexOf('/');
  return slash < 0 ? { namespace: '', name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
