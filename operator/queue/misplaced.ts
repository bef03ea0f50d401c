/** States of ScanQueues in other namespaces than that of the API's scans that no scan uses them. */
import type { ScanQueue } from '../../core/protocol/custom-resources.ts';
import type { OperatorContext } from '../context.ts';
import { fromKey, keyOf } from '../runtime/cache.ts';
import { conditionOf, type ConditionUpdate, withConditions } from '../runtime/conditions.ts';
import { watch } from '../runtime/manager.ts';
import { mergePatch, type MergePatch } from '../runtime/resource-client.ts';
import { QUEUES } from '../scan/kube-types.ts';
import type { QueueStatus } from './status.ts';

/** The reason of a queue that no scan uses, because it is not in the namespace of the API's scans. */
const WRONG_NAMESPACE = 'WrongNamespace';

export function addMisplacedQueues({ manager, settings: { namespace, watchNamespaces }, clock }: OperatorContext): void {
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

/** The conditions of a queue in another namespace. @param namespace that of the API's scans */
export function misplacedConditions(namespace: string): ConditionUpdate[] {
  const why = {
    reason: WRONG_NAMESPACE,
    message: `No scan uses this queue: queues are in the namespace ${namespace}. Delete it and apply it there.`,
  };
  return [
    { type: 'Ready', status: 'False', ...why },
    { type: 'Stalled', status: 'True', ...why },
  ];
}
