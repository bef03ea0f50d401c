/** Mirrors what the API must know before it accepts a submission: whether a built-in queue is paused, and how many scans are live. */
import { isDeepStrictEqual } from 'node:util';
import { ANONYMOUS } from '../../core/organisation.ts';
import {
  BUILT_IN_QUEUES,
  cameByApi,
  DEFAULT_QUEUE,
  isBuiltInQueue,
  PUBLIC_QUEUE,
  queueOf,
  type AccessibilityScan,
  type BuiltInQueue,
} from '../../core/protocol/custom-resources.ts';
import { dueIn } from '../../platform/clock.ts';
import type { QueueState } from '../../stores/submissions/queue-state.ts';
import type { OperatorContext } from '../context.ts';
import { fromKey, toKey } from '../runtime/cache.ts';
import { watch } from '../runtime/manager.ts';
import { isAdmitted } from '../scan/kube-types.ts';
import { isLive, organisationOf, scansInReach } from './waiting.ts';

/** The API rejects a state that is older than a few of these intervals, in milliseconds. */
const EVERY_MS = 10_000;
/** The minimum time between two counts of the live scans, however many scans come and go. */
const COUNT_EVERY_MS = 1_000;

export function addStateController({ manager, scanClient, queueClient, stores, metrics, clock }: OperatorContext): void {
  const { namespace } = queueClient;
  const keyOf = (name: BuiltInQueue) => toKey(namespace, name);
  const keys = BUILT_IN_QUEUES.map(keyOf);
  const mirrored = new Map<BuiltInQueue, { state: Omit<QueueState, 'updatedAt'>; at: Date }>();

  async function isPaused(name: BuiltInQueue): Promise<boolean> {
    const queue = queueClient.get(namespace, name);
    return queue === undefined ? queueClient.pausedBefore(name) : (queue.spec.paused ?? false);
  }

  manager.add({
    name: 'queue-state',
    workers: 1,
    maxBackOffMs: 5_000,
    sources: [
      (enqueue) => {
        keys.forEach((key) => enqueue(key));
        return () => undefined;
      },
      // Most changes of a scan do not change whether it is live.
      watch(scanClient, ({ type, object, previous }) =>
        type !== 'modified' || previous === undefined || countsAsLive(object, namespace) !== countsAsLive(previous, namespace)
          ? [keyOf(stateOf(object))]
          : [],
      ),
      watch(queueClient, ({ object: { metadata } }) => (isBuiltInQueue(metadata.name) ? [keyOf(metadata.name)] : [])),
      (enqueue) => manager.namespaces.onChange(() => keys.forEach((key) => enqueue(key))),
    ],
    acrossNamespaces: true,
    async reconcile(key) {
      const name = fromKey(key).name as BuiltInQueue;
      const paused = await isPaused(name);
      const now = clock.now();
      const last = mirrored.get(name);
      const countIn = dueIn(last?.at ?? null, COUNT_EVERY_MS, now);
      if (last?.state.paused === paused && countIn > 0) return { requeueAfterMs: countIn };
      const scans = scansInReach(scanClient.list(), manager.namespaces.unreadable(), now);
      const live = scans.filter((scan) => countsAsLive(scan, namespace) && stateOf(scan) === name).length;
      const state = { paused, live };
      if (!isDeepStrictEqual(state, last?.state) || dueIn(last?.at ?? null, EVERY_MS, now) <= 0) {
        await stores.queueStates.write(state, name);
        mirrored.set(name, { state, at: now });
      }
      if (name === DEFAULT_QUEUE) metrics.live(live);
      return { requeueAfterMs: EVERY_MS };
    },
  });
}

/**
 * Returns the queue whose state counts a scan. Public scans have a limit of their own, so that they take no place of other
 * scans. An organisation's scan that names the public queue counts as the organisation's.
 */
function stateOf(scan: AccessibilityScan): BuiltInQueue {
  const isUnvetted = organisationOf(scan) === '';
  const isPublic = isUnvetted ? queueOf(scan) === PUBLIC_QUEUE : organisationOf(scan) === ANONYMOUS;
  return isPublic ? PUBLIC_QUEUE : DEFAULT_QUEUE;
}

/**
 * Whether a scan counts against the installation's limit of live scans, above which the API refuses submissions. A manifest that
 * waits takes no one's place, so that one organisation with many manifests cannot fill the installation.
 */
function countsAsLive(scan: AccessibilityScan, namespace: string): boolean {
  return isLive(scan) && (isAdmitted(scan) || cameByApi(scan, namespace));
}
