/** The status of a ScanQueue. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { QueuePause, ScanQueue } from '../../core/protocol/custom-resources.ts';
import { withConditions, type ConditionUpdate } from '../runtime/conditions.ts';
import type { QueueLoad } from './admission.ts';
import { queueReadiness } from './readiness.ts';
import { pausesAfter } from './pauses.ts';
import { namespacesReadable, type UnreadableNamespaces } from './out-of-reach.ts';

export type QueueStatus = NonNullable<ScanQueue['status']>;

/** The number of organisations in the status, so that its size is bounded. `maxItems` in the custom resource definition. */
export const ORGANISATIONS_MAX = 20;

export interface StatusFacts {
  /** The pauses until now. */
  pauses: readonly QueuePause[];
  everyMs: number;
  unreadable: UnreadableNamespaces;
  /** A condition of the default queue; null while it is unknown, and for other queues. */
  organisationsReadable: ConditionUpdate | null;
  now: Date;
}

/** Returns the status to write, or null if the current one is recent enough. */
export function statusChange(
  queue: ScanQueue,
  load: QueueLoad,
  { pauses, everyMs, unreadable, organisationsReadable, now }: StatusFacts,
): QueueStatus | null {
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
    conditions: withConditions(queue, conditionsOf(load.paused, { unreadable, organisationsReadable }), now),
  };
  const { oldestWaitSeconds: written = 0, ...current } = queue.status ?? {};
  const { oldestWaitSeconds: _, ...wanted } = status;
  // The waiting time always grows. If nothing else changes, it is written once per interval.
  const waitIsRecent = Math.abs(written - oldestWaitSeconds) * 1000 < everyMs;
  return isDeepStrictEqual(current, wanted) && waitIsRecent ? null : status;
}

function conditionsOf(
  paused: boolean,
  { unreadable, organisationsReadable }: Pick<StatusFacts, 'unreadable' | 'organisationsReadable'>,
): ConditionUpdate[] {
  const readable = namespacesReadable(unreadable);
  return [...queueReadiness(paused, readable), readable, ...(organisationsReadable ? [organisationsReadable] : [])];
}

/** The organisations with the most waiting scans, then the most running ones. */
function busiest({ organisations }: QueueLoad): QueueStatus['organisations'] {
  return [...organisations]
    .filter(([name]) => name !== '')
    .toSorted(([one, a], [other, b]) => b.queued - a.queued || b.running - a.running || (one < other ? -1 : 1))
    .slice(0, ORGANISATIONS_MAX)
    .map(([name, { queued, running, starting }]) => ({ name, queued, running, starting }));
}
