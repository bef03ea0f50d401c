/** The ScanQueue controller: admits the scans of each queue, states why others wait, and mirrors their order for the API. */
import {
  BUILT_IN_QUEUES,
  DEFAULT_QUEUE,
  isBuiltInQueue,
  PUBLIC_QUEUE,
  queueOf,
  type AccessibilityScan,
} from '../../core/protocol/custom-resources.ts';
import { KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import type { OperatorContext } from '../context.ts';
import type { Readability } from '../organisation/controller.ts';
import { fromKey, keyOf, toKey } from '../runtime/cache.ts';
import { watch, type Source } from '../runtime/manager.ts';
import { createPlannedReconcile, type Next, type Plan } from '../runtime/controller.ts';
import { admittedStatus, waitingStatus } from '../scan/policy/status.ts';
import { planQueue, type QueueAction, type QueueFacts } from './plan.ts';
import { isMoved, organisationOf } from './waiting.ts';

const EVERY_MS = 10_000;
const CONFLICT_RETRY_MS = 200;
/** The time for which a scan whose admission the API server refused is left out, so that it does not take the place of another. */
const REFUSED_FOR_MS = 30_000;
/** The number of queues that are planned concurrently. One queue is never planned twice at the same time. */
const WORKERS = 4;

/** What the controller remembers of a queue between two plans. */
type Memory = Pick<QueueFacts, 'line' | 'statusAt'>;

/** @param organisations whether they are readable, which the default queue states */
export function addQueueController(context: OperatorContext, organisations: Readability): void {
  const { manager, scanClient, queueClient, gate, settings, logger, clock } = context;
  const memories = new Map<string, Memory>();
  const refused = new Map<string, number>();
  const isLeftOut = ({ metadata }: AccessibilityScan) => (refused.get(metadata.uid!) ?? 0) > clock.monotonic();
  const leaveOut = (scan: AccessibilityScan, error: KubernetesError): void => {
    refused.set(scan.metadata.uid!, clock.monotonic() + REFUSED_FOR_MS);
    logger.warn({ key: keyOf(scan), err: error }, 'cannot write to a waiting scan, leaving it out for a while');
  };
  scanClient.onChange(({ type, object }) => type === 'deleted' && refused.delete(object.metadata.uid!));

  async function gather(key: string): Promise<QueueFacts> {
    const { namespace, name } = fromKey(key);
    const queue = queueClient.get(namespace, name) ?? null;
    const pausedBefore = queue === null && isBuiltInQueue(name) && (await queueClient.pausedBefore(name));
    return {
      // In the same tick as the list: a scan with a place is in one of the two.
      ...gate.close(name),
      scans: scanClient.byIndex('queue', name).filter((scan) => !isLeftOut(scan)),
      name,
      namespace,
      queue,
      pausedBefore,
      pauses: queueClient.pausesOf(name) ?? [],
      defaultMaxRunning: name === PUBLIC_QUEUE ? settings.maxRunningPublic : settings.maxRunning,
      unreadable: manager.namespaces.unreadable(),
      organisationsReadable: name === DEFAULT_QUEUE ? organisations.condition() : null,
      everyMs: EVERY_MS,
      now: clock.now(),
      ...(memories.get(name) ?? { line: { mirrored: null, at: null }, statusAt: null }),
    };
  }

  async function act({ actions, wakeAfterMs }: Plan<QueueAction>, facts: QueueFacts, signal: AbortSignal): Promise<Next> {
    const memory: Memory = { line: facts.line, statusAt: facts.statusAt };
    memories.set(facts.name, memory);
    let conflict = false;
    let refusal: KubernetesError | null = null;
    for (const action of actions) {
      signal.throwIfAborted();
      const scan = action.do === 'admit' || action.do === 'explainWait' ? action.scan : null;
      // A ScanQueue that cannot be written does not hold up its scans.
      const onRefusal = (error: KubernetesError): void => (scan === null ? void (refusal ??= error) : leaveOut(scan, error));
      const written = await skipConflict(() => execute(context, action, facts, signal), onRefusal);
      if (action.do === 'mirrorLine') memory.line = { mirrored: action.line, at: facts.now };
      if (action.do === 'writeStatus') memory.statusAt = facts.now;
      if (action.do === 'forget') memories.delete(facts.name);
      // The next plan updates the status of the waiting scan.
      if (!written && action.do !== 'explainWait') conflict = true;
    }
    if (refusal !== null) throw refusal;
    if (conflict) return { requeueAfterMs: CONFLICT_RETRY_MS };
    return wakeAfterMs === null ? {} : { requeueAfterMs: wakeAfterMs };
  }

  manager.add({
    name: 'queue',
    workers: WORKERS,
    maxBackOffMs: 5_000,
    sources: sourcesOf(context, organisations),
    acrossNamespaces: true,
    reconcile: createPlannedReconcile<QueueFacts, QueueAction>({ gather, plan: planQueue, execute: act }),
  });
}

/** Each change enqueues the queue that it is about, and no other. */
function sourcesOf({ scanClient, queueClient, manager }: OperatorContext, organisations: Readability): Source[] {
  const { namespace } = queueClient;
  const toQueue = (name: string) => toKey(namespace, name);
  return [
    (enqueue) => {
      // A queue that does not exist yet emits no event.
      for (const name of BUILT_IN_QUEUES) enqueue(toQueue(name));
      return () => undefined;
    },
    watch(scanClient, ({ type, object, previous }) => (type === 'deleted' || isMoved(object, previous) ? [toQueue(queueOf(object))] : [])),
    watch(queueClient, ({ object }) => [keyOf(object)]),
    (enqueue) => organisations.onChange(() => enqueue(toQueue(DEFAULT_QUEUE))),
    (enqueue) => manager.namespaces.onChange(() => [...BUILT_IN_QUEUES.map(toQueue), ...queueClient.list().map(keyOf)].forEach(enqueue)),
  ];
}

async function execute(
  { scanClient, queueClient, stores, gate, metrics }: OperatorContext,
  action: QueueAction,
  { name, queue, line, now }: QueueFacts,
  signal: AbortSignal,
): Promise<void> {
  switch (action.do) {
    case 'open':
      return gate.open(name, action.places);
    case 'create':
      return void (await queueClient.create(action.queue, signal));
    case 'admit':
      await scanClient.patchStatus(action.scan, admittedStatus(action.scan, now), signal);
      return gate.admitted(name, organisationOf(action.scan));
    case 'explainWait':
      return void (await scanClient.patchStatus(action.scan, waitingStatus(action.scan, action.why, now), signal));
    case 'mirrorLine':
      return action.changed ? stores.queueStates.writeLine(name, action.line) : undefined;
    case 'writeStatus':
      return void (await queueClient.patchStatus(action.queue, action.status, signal));
    case 'measure':
      return metrics.queue(name, queue === null && !isBuiltInQueue(name) ? 'missing' : 'exists', action.load);
    case 'forget':
      gate.forget(name);
      metrics.queueGone(name);
      if (line.mirrored !== null && line.mirrored.waiting > 0) await stores.queueStates.writeLine(name, { waiting: 0, order: [] });
  }
}

/**
 * Runs a write.
 * @param onRefusal called if the API server refuses the write for another reason than a conflict
 * @returns false if the object has changed, is gone or exists already, or was refused; the next plan handles the new state
 */
async function skipConflict(write: () => Promise<void>, onRefusal: (error: KubernetesError) => void): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if (!(error instanceof KubernetesError) || isTransient(error)) throw error;
    if (error.code !== 409 && error.code !== 404) onRefusal(error);
    return false;
  }
}

/**
 * Whether the same write may soon succeed, or may have succeeded although the API server answered with an error. An admission
 * webhook that does not answer is neither: nothing was written, and it may last and concern one namespace only.
 */
function isTransient({ code, message }: KubernetesError): boolean {
  return code === 429 || (code >= 500 && !message.includes('failed calling webhook'));
}
