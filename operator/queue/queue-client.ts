/** Reads and writes the ScanQueues of the installation, which are in the API's namespace. */
import { type BuiltInQueue, isBuiltInQueue, type QueuePause, type ScanQueue } from '../../core/protocol/custom-resources.ts';
import type { QueueStates } from '../../stores/submissions/queue-state.ts';
import type { Manager } from '../runtime/manager.ts';
import type { ResourceClient } from '../runtime/resource-client.ts';
import { QUEUES } from '../scan/kube-types.ts';

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
