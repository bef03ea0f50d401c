/** The status of a ScanQueue. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { QueuePause, ScanQueue } from '../../core/protocol/custom-resources.ts';
import { type ConditionUpdate, withConditions } from '../runtime/conditions.ts';
import type { QueueLoad } from './admission.ts';
import { namespacesReadable, pausesAfter, type UnreadableNamespaces } from './waiting.ts';
export type QueueStatus = NonNullable<ScanQueue['status']>;

/** The number of organisations in the status, so that its size is bounded. `maxItems` in the custom resource definition. */
export const ORGANISATIONS_MAX = 20;

export interface StatusFacts {
  pauses: readonly QueuePause[];
  /** The interval of plans without events, in milliseconds. */
  everyMs: number;
  unreadable: UnreadableNamespaces;
  /** A condition of the default queue; null while it is unknown, and for other queues. */
  organisationsReadable: ConditionUpdate | null;
  now: Date;
}

/** Returns the status to write, or null if the current one is recent enough. */
export function statusChange(queue: ScanQueue, load: QueueLoad, facts: StatusFacts): QueueStatus | null {
  const { pauses, everyMs, now } = facts;
  const { queued, running, starting, oldestWaitSeconds } = load;
  const allPauses = pausesAfter(pauses, load.paused, now);
  const status: QueueStatus = {
    queued,
    running,
    starting,
    oldestWaitSeconds,
    ...(allPauses.length > 0 && { pauses: allPauses }),
    organisations: busiest(load),
    observedGeneration: queue.metadata.generation,
    conditions: withConditions(queue, conditionsOf(load.paused, facts), now),
  };
  const { oldestWaitSeconds: written = 0, ...current } = queue.status ?? {};
  const { oldestWaitSeconds: _, ...wanted } = status;
  // The waiting time always grows. If nothing else changes, it is written once per interval.
  const waitIsRecent = Math.abs(written - oldestWaitSeconds) * 1000 < everyMs;
  return isDeepStrictEqual(current, wanted) && waitIsRecent ? null : status;
}

/** The organisations with the most waiting scans, then the most running ones. */
function busiest({ organisations }: QueueLoad): QueueStatus['organisations'] {
  return [...organisations]
    .filter(([name]) => name !== '')
    .toSorted(([one, a], [other, b]) => b.queued - a.queued || b.running - a.running || (one < other ? -1 : 1))
    .slice(0, ORGANISATIONS_MAX)
    .map(([name, { queued, running, starting }]) => ({ name, queued, running, starting }));
}

/** The conditions of a queue in use. `Stalled` too, because another operator may have taken the queue for misplaced. */
function conditionsOf(paused: boolean, { unreadable, organisationsReadable }: StatusFacts): ConditionUpdate[] {
  const readable = namespacesReadable(unreadable);
  const why = whyReady(paused, readable);
  return [
    { type: 'Ready', status: readable.status === 'True' ? 'True' : 'False', ...why },
    { type: 'Stalled', status: 'False', ...why },
    readable,
    ...(organisationsReadable ? [organisationsReadable] : []),
  ];
}

function whyReady(paused: boolean, readable: ConditionUpdate): Pick<ConditionUpdate, 'reason' | 'message'> {
  if (readable.status !== 'True') return { reason: 'NamespacesUnreadable', message: readable.message };
  if (paused) return { reason: 'Paused', message: 'The queue is paused: no further scan is admitted.' };
  return { reason: 'Open', message: 'Scans are admitted.' };
}
