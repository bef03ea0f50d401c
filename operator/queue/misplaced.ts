/** States in the status of ScanQueues outside the API's namespace that no scan uses them. */
import type { ScanQueue } from '../../core/protocol/custom-resources.ts';
import type { Clock } from '../../platform/clock.ts';
import { conditionOf, withConditions } from '../runtime/conditions.ts';
import { watch, type Manager } from '../runtime/controller/manager.ts';
import { fromKey, keyOf } from '../runtime/key.ts';
import { mergePatch } from '../runtime/merge-patch.ts';
import type { MergePatch } from '../runtime/resource-client.ts';
import { QUEUES } from '../scan/kube-types.ts';
import type { OperatorSettings } from '../settings.ts';
import { misplacedConditions, WRONG_NAMESPACE } from './readiness.ts';
import type { QueueStatus } from './status.ts';

/**
 * Returns the change of the status, or null if there is none. A queue that another operator uses has its condition Ready from that
 * one: several installations may share a cluster. Pure.
 */
export function misplacedChange(queue: ScanQueue, namespace: string, now: Date): MergePatch<QueueStatus> | null {
  const { status } = queue;
  const ready = conditionOf(status?.conditions, 'Ready');
  if (queue.metadata.deletionTimestamp !== undefined || (ready !== undefined && ready.reason !== WRONG_NAMESPACE)) return null;
  // Several operators may see the queue, each with a namespace of its own in the message: the first one states it.
  if (ready?.observedGeneration === queue.metadata.generation) return null;
  const conditions = withConditions(queue, misplacedConditions(namespace), now);
  return mergePatch<Partial<QueueStatus>>(status ?? {}, { ...status, observedGeneration: queue.metadata.generation, conditions });
}

export function addMisplacedQueues(
  manager: Pick<Manager, 'watchResource' | 'add'>,
  { namespace, watchNamespaces }: Pick<OperatorSettings, 'namespace' | 'watchNamespaces'>,
  clock: Clock,
): void {
  const others = watchNamespaces.filter((watched) => watched !== namespace);
  if (watchNamespaces.length > 0 && others.length === 0) return;
  const client = manager.watchResource<ScanQueue>({
    resource: QUEUES,
    namespaces: others,
    accepts: ({ metadata }) => metadata.namespace !== namespace,
    // Nothing depends on them.
    optional: true,
  });
  manager.add({
    name: 'misplaced-queue',
    workers: 1,
    sources: [watch(client, ({ object }) => [keyOf(object)])],
    async reconcile(key, signal) {
      const { namespace: at, name } = fromKey(key);
      const queue = client.get(at, name);
      const change = queue && misplacedChange(queue, namespace, clock.now());
      if (queue && change) await client.patchStatus(queue, change, signal);
    },
  });
}
