/** Reads and writes pods for the scheduler and the kubelet. */
import { isDeepStrictEqual } from 'node:util';
import type { Registry } from '../registry/registry.ts';
import type { Catalogue } from '../resources/builtins.ts';
import type { Store } from '../store.ts';
import type { Json, Pod, PodStatus } from '../types.ts';

export const PODS = '/pods';

export const hasEnded = ({ status }: Pod): boolean => status.phase === 'Succeeded' || status.phase === 'Failed';

export interface Pods {
  list(): Pod[];
  get(namespace: string, name: string): Pod | undefined;
  bind(pod: Pod, nodeName: string): void;
  /** Writes the status that `make` returns for the stored pod. Does nothing if the pod was deleted or nothing changed. */
  updateStatus(pod: Pod, make: (pod: Pod) => PodStatus): void;
  /** Confirms a pod's deletion after its containers have ended. Finalizers can still keep the pod. */
  confirmDeletion(pod: Pod): void;
}

export function openPods(store: Store, objects: Registry, catalogue: Catalogue): Pods {
  const resource = catalogue.named('', 'pods');
  const get = (namespace: string, name: string): Pod | undefined => store.get(PODS, namespace, name) as Pod | undefined;

  /** The stored pod, unless another pod has taken its name. */
  function current({ metadata }: Pod): Pod | undefined {
    const found = get(metadata.namespace ?? '', metadata.name);
    return found?.metadata.uid === metadata.uid ? found : undefined;
  }

  function updateStatus(pod: Pod, make: (pod: Pod) => PodStatus): void {
    const latest = current(pod);
    if (latest === undefined) return;
    const { namespace = '', name } = latest.metadata;
    const status = make(latest);
    if (isDeepStrictEqual(status, latest.status)) return;
    objects.update(resource, namespace, name, (old) => ({ ...old, status }) as unknown as Json, 'status');
  }

  return {
    list: () => store.list(PODS) as Pod[],
    get,
    bind({ metadata }, nodeName) {
      objects.update(
        resource,
        metadata.namespace ?? '',
        metadata.name,
        (old) => ({ ...old, spec: { ...(old['spec'] as object), nodeName } }) as unknown as Json,
      );
    },
    updateStatus,
    confirmDeletion(pod) {
      if (!hasEnded(pod)) updateStatus(pod, (latest) => ({ ...latest.status, phase: 'Failed' }));
      const { metadata } = current(pod) ?? {};
      if (metadata === undefined || (metadata.deletionGracePeriodSeconds ?? 0) === 0) return;
      objects.remove(resource, metadata.namespace ?? '', metadata.name, { gracePeriodSeconds: 0, propagationPolicy: 'Background' });
    },
  };
}
