/** Reads and writes the ScanQueues of the installation, which are in the API's namespace. */
import { DEFAULT_QUEUE, type ScanQueue } from '../../core/protocol/custom-resources.ts';
import type { QueueStates } from '../../stores/submissions/queue-state.ts';
import type { Manager } from '../runtime/manager.ts';
import type { ResourceClient } from '../runtime/resource-client.ts';
import { QUEUES } from '../scan/kube-types.ts';

export interface QueueClient extends ResourceClient<ScanQueue> {
  readonly namespace: string;
  /** Whether the default queue was paused when it last existed. */
  pausedBefore(): Promise<boolean>;
}

export interface QueueClientDeps {
  manager: Pick<Manager, 'watchResource'>;
  queueStates: Pick<QueueStates, 'read'>;
  namespace: string;
}

export function watchQueues({ manager, queueStates, namespace }: QueueClientDeps): QueueClient {
  const queues = manager.watchResource<ScanQueue>({ resource: QUEUES, namespaces: [namespace] });
  let pausedWhenDeleted: boolean | null = null;
  queues.onChange(({ type, object }) => {
    if (type === 'deleted' && object.metadata.name === DEFAULT_QUEUE) pausedWhenDeleted = object.spec.paused ?? false;
  });
  return {
    ...queues,
    namespace,
    // A queue that was deleted while no operator ran is known only from the last mirrored state.
    pausedBefore: async () => pausedWhenDeleted ?? (await queueStates.read()).paused,
  };
}
