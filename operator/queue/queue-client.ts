/** Reads and writes the ScanQueues of the installation, which are in the API's namespace; states of others that no scan uses them. */
import { type BuiltInQueue, isBuiltInQueue, type QueuePause, type ScanQueue } from '../../core/protocol/custom-resources.ts';
import type { QueueStates } from '../../stores/submissions/queue-state.ts';
import { type Manager, watch } from '../runtime/manager.ts';
import { mergePatch, type MergePatch, type ResourceClient } from '../runtime/resource-client.ts';
import { QUEUES } from '../scan/kube-types.ts';
import type { Clock } from '../../platform/clock.ts';
import { conditionOf, withConditions } from '../runtime/conditions.ts';
import { fromKey, keyOf } from '../runtime/cache.ts';
import type { OperatorSettings } from '../settings.ts';
import { misplacedConditions, type QueueStatus, WRONG_NAMESPACE } from './status.ts';
export interface QueueClient extends ResourceClient<ScanQueue> {
  readonly namespace: string;
  /** Whether a built-in queue was paused when it last existed. */
  pausedBefore(name: BuiltInQueue): Promise<boolean>;
  /** The pauses of a queue, or of a built-in one when it last existed. Null before the queues are listed. */
  pausesOf(name: string): readonly QueuePause[] | null;
}

export function watchQueues(
  manager: Pick<Manager, 'watchResource'>,
  queueStates: Pick<QueueStates, 'read'>,
  namespace: string,
): QueueClient {
  const queues = manager.watchResource<ScanQueue>({ resource: QUEUES, namespaces: [namespace] });
  const deleted = new Map<string, ScanQueue>();
  queues.onChange(({ type, object }) => {
    const { name } = object.metadata;
    if (type === 'deleted' && isBuiltInQueue(name)) deleted.set(name, object);
  });
  return {
    ...queues,
    namespace,
    // A queue that was deleted while no operator ran is known only from the last mirrored state.
    async pausedBefore(name) {
      const before = deleted.get(name);
      return before === undefined ? (await queueStates.read(name)).paused : (before.spec.paused ?? false);
    },
    pausesOf(name) {
      // The operator creates the built-in queues, so an empty list has not arrived. Scans of other namespaces may be listed earlier.
      if (queues.list().length === 0) return null;
      return queues.get(namespace, name)?.status?.pauses ?? deleted.get(name)?.status?.pauses ?? [];
    },
  };
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
