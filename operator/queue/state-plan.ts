/** Plans what the API must know before it accepts a submission: whether a built-in queue is paused, and how many scans are live. */
import { isDeepStrictEqual } from 'node:util';
import { ANONYMOUS } from '../../core/organisation.ts';
import {
  cameByApi,
  DEFAULT_QUEUE,
  PUBLIC_QUEUE,
  queueOf,
  type AccessibilityScan,
  type BuiltInQueue,
} from '../../core/protocol/custom-resources.ts';
import type { QueueState } from '../../stores/submissions/queue-state.ts';
import { dueIn } from '../../platform/clock.ts';
import { isAdmitted } from '../scan/kube-types.ts';
import { isLive, organisationOf, scansInReach, type UnreadableNamespaces } from './waiting.ts';

type State = Omit<QueueState, 'updatedAt'>;

export interface StateFacts {
  name: BuiltInQueue;
  /** The namespace of the scans that the API submits. */
  namespace: string;
  paused: boolean;
  /** The scans of all queues. Null if the last state is so recent that only a pause is news. */
  scans: readonly AccessibilityScan[] | null;
  unreadable: UnreadableNamespaces;
  /** The last write of this operator; null before the first. */
  mirrored: { state: State; at: Date } | null;
  /** The API rejects a state that is older than a few of these intervals, in milliseconds. */
  everyMs: number;
  now: Date;
}

type StateAction = { do: 'mirror'; state: State } | { do: 'measure'; live: number };
interface StatePlan {
  actions: StateAction[];
  wakeAfterMs: number;
}

/** The minimum time between two counts of the live scans, however many scans come and go. */
export const COUNT_EVERY_MS = 1_000;

/**
 * Returns the queue whose state counts a scan. Public scans have a limit of their own, so that they take no place of other
 * scans. An organisation's scan that names the public queue counts as the organisation's.
 */
export function stateOf(scan: AccessibilityScan): BuiltInQueue {
  const isUnvetted = organisationOf(scan) === '';
  const isPublic = isUnvetted ? queueOf(scan) === PUBLIC_QUEUE : organisationOf(scan) === ANONYMOUS;
  return isPublic ? PUBLIC_QUEUE : DEFAULT_QUEUE;
}

/**
 * Whether a scan counts against the installation's limit of live scans, above which the API refuses submissions. A manifest that
 * waits takes no one's place, so that one organisation with many manifests cannot fill the installation.
 */
export function countsAsLive(scan: AccessibilityScan, namespace: string): boolean {
  return isLive(scan) && (isAdmitted(scan) || cameByApi(scan, namespace));
}

export function planState({ name, namespace, paused, scans, unreadable, mirrored, everyMs, now }: StateFacts): StatePlan {
  const last = mirrored?.at ?? null;
  if (scans === null) return { actions: [], wakeAfterMs: Math.max(0, dueIn(last, COUNT_EVERY_MS, now)) };
  const live = scansInReach(scans, unreadable, now).filter((scan) => countsAsLive(scan, namespace) && stateOf(scan) === name).length;
  const state = { paused, live };
  const same = isDeepStrictEqual(state, mirrored?.state) && dueIn(last, everyMs, now) > 0;
  const actions: StateAction[] = name === DEFAULT_QUEUE ? [{ do: 'measure', live }] : [];
  // First, so that the API sees a pause even if the other action fails.
  if (!same) actions.unshift({ do: 'mirror', state });
  return { actions, wakeAfterMs: everyMs };
}
