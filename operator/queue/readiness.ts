/** Whether a ScanQueue is in use: its condition Ready, and Stalled for kstatus (Flux, `kubectl wait`). Pure. */
import type { ConditionUpdate } from '../runtime/conditions.ts';

/** The reason of a queue that no scan uses, because it is not in the namespace of the API's scans. */
export const WRONG_NAMESPACE = 'WrongNamespace';

/** The conditions of a queue in use. Both, because another operator may have taken it for misplaced. @param readable the condition NamespacesReadable */
export function queueReadiness(paused: boolean, readable: ConditionUpdate): ConditionUpdate[] {
  const why = reasonOf(paused, readable);
  return [
    { type: 'Ready', status: readable.status === 'True' ? 'True' : 'False', ...why },
    { type: 'Stalled', status: 'False', ...why },
  ];
}

function reasonOf(paused: boolean, readable: ConditionUpdate): Pick<ConditionUpdate, 'reason' | 'message'> {
  if (readable.status !== 'True') return { reason: 'NamespacesUnreadable', message: readable.message };
  if (paused) return { reason: 'Paused', message: 'The queue is paused: no further scan is admitted.' };
  return { reason: 'Open', message: 'Scans are admitted.' };
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
