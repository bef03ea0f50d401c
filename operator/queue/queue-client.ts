/** Reads and writes the ScanQueues of the installation, which are in the API's namespace. */
import { isBuiltInQueue, type BuiltInQueue, type ScanQueue } from '../../core/protocol/custom-resources.ts';
import type { QueueStates } from '../../stores/submissions/queue-state.ts';
import type { Manager } from '../runtime/manager.ts';
import type { ResourceClient } from '../runtime/resource-client.ts';
import { QUEUES } from '../scan/kube-types.ts';

export interface QueueClient extends ResourceClient<ScanQueue> {
  readonly namespace: string;
  /** Whether a built-in queue was paused when it last existed. */
  pausedBefore(name: BuiltInQueue): Promise<boolean>;
}

export interface QueueClientDeps {
  manager: Pick<Manager, 'watchResource'>;
  queueStates: Pick<QueueStates, 'read'>;
  namespace: string;
}

export function watchQueues({ manager, queueStates, namespace }: QueueClientDeps): QueueClient {
  const queues = manager.watchResource<ScanQueue>({ resource: QUEUES, namespaces: [namespace] });
  const pausedWhenDeleted = new Map<BuiltInQueue, boolean>();
  queues.onChange(({ type, object }) => {
    const { name } = object.metadata;
    if (type === 'deleted' && isBuiltInQueue(name)) pausedWhenDeleted.set(name, object.spec.paused ?? false);
  });
  return {
    ...queues,
    namespace,
    // A queue that was deleted while no operator ran is known only from the last mirrored state.
    pausedBefore: async (name) => pausedWhenDeleted.get(name) ?? (await queueStates.read(name)).paused,
  };
}
