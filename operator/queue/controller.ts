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
import { sleep } from '../../platform/clock.ts';
import { fromKey, keyOf, toKey } from '../runtime/cache.ts';
import { watch, type Source } from '../runtime/manager.ts';
import { createPlannedReconcile, type Next, type Plan } from '../runtime/controller.ts';
import { admittedStatus, waitingStatus } from '../scan/policy/status.ts';
import { planQueue, type QueueAction, type QueueFacts } from './plan.ts';
import { isMoved, organisationOf } from './waiting.ts';

const EVERY_MS = 10_000;
const CONFLICT_RETRY_MS = 200;
/** The time for which scans whose admission was refused or took too long are left out, so that they do not take the places of others. */
const REFUSED_FOR_MS = 30_000;
/** The time limit of a write to a waiting scan. An admission webhook of its namespace may take longer. */
const WRITE_WITHIN_MS = 5_000;
/** The time for which a plan waits for its writes to scans. The write of a slow share goes on beside the next plan. */
const PLAN_WAIT_MS = 1_000;
/** The number of queues that are planned concurrently. One queue is never planned twice at the same time. */
const WORKERS = 4;

type ScanAction = Extract<QueueAction, { scan: AccessibilityScan }>;
const isOfScan = (action: QueueAction): action is ScanAction => action.do === 'admit' || action.do === 'explainWait';

/** What the controller remembers of a queue between two plans. */
type Memory = Pick<QueueFacts, 'line' | 'statusAt'>;

/** @param organisations whether they are readable, which the default queue states */
export function addQueueController(context: OperatorContext, organisations: Readability): void {
  const { manager, scanClient, queueClient, gate, shareOf, settings, logger, clock } = context;
  const memories = new Map<string, Memory>();
  /** Until when a scan, by its uid, or the scans of a share are left out. */
  const refused = new Map<string, number>();
  /** The queues and shares whose writes are in progress. */
  const writing = new Set<string>();
  const stopped = new AbortController();
  const isRefused = (name: string) => (refused.get(name) ?? 0) > clock.monotonic();
  const laneOf = (scan: AccessibilityScan) => `${queueOf(scan)} ${shareOf(keyOf(scan))}`;
  const isLeftOut = (scan: AccessibilityScan) => isRefused(scan.metadata.uid!) || isRefused(laneOf(scan)) || writing.has(laneOf(scan));
  scanClient.onChange(({ type, object }) => type === 'deleted' && refused.delete(object.metadata.uid!));

  async function gather(key: string): Promise<QueueFacts> {
    const { namespace, name } = fromKey(key);
    const queue = queueClient.get(namespace, name) ?? null;
    const pausedBefore = queue === null && isBuiltInQueue(name) && (await queueClient.pausedBefore(name));
    return {
      // In the same tick as the list: a scan with a place is in one of the two.
      ...gate.close(name),
      scans: scanClient.byIndex('queue', name),
      isLeftOut,
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
    const lanes = Map.groupBy(actions.filter(isOfScan), ({ scan }) => laneOf(scan));
    const writes = Promise.all([...lanes].map(([lane, own]) => writeLane(lane, own, facts, signal)));
    // Nothing awaits a write that fails after the plan.
    writes.catch(() => undefined);
    let refusal: KubernetesError | null = null;
    let conflict = false;
    for (const action of actions) {
      if (isOfScan(action)) continue;
      signal.throwIfAborted();
      // A ScanQueue that cannot be written does not hold up its scans.
      const onRefusal = (error: KubernetesError): void => void (refusal ??= error);
      const written = await skipConflict(() => execute(context, action, facts, signal), onRefusal);
      if (action.do === 'mirrorLine') memory.line = { mirrored: action.line, at: facts.now };
      if (action.do === 'writeStatus') memory.statusAt = facts.now;
      if (action.do === 'forget') memories.delete(facts.name);
      if (!written) conflict = true;
    }
    const results = await Promise.race([writes, sleep(clock, PLAN_WAIT_MS, signal)]);
    if (results?.includes(false)) conflict = true;
    if (refusal !== null) throw refusal as KubernetesError;
    if (conflict) return { requeueAfterMs: CONFLICT_RETRY_MS };
    return wakeAfterMs === null ? {} : { requeueAfterMs: wakeAfterMs };
  }

  /**
   * Writes to the scans of one share, one after the other. If that takes long, the places of those that are left are free again.
   * @returns false if a place is free again, for the next plan
   */
  async function writeLane(lane: string, own: readonly ScanAction[], facts: QueueFacts, signal: AbortSignal): Promise<boolean> {
    for (const action of own)
      if (action.do === 'admit')
        gate.hold(facts.name, action.scan.metadata.uid!, { organisation: organisationOf(action.scan), pods: action.pods });
    let [current, done, late] = ['', true, false];
    const giveBack = (): void =>
      own.forEach(({ scan: { metadata } }) => metadata.uid !== current && gate.settled(facts.name, metadata.uid!));
    const cancel = clock.after(PLAN_WAIT_MS, () => {
      late = true;
      giveBack();
      enqueue(toKey(facts.namespace, facts.name));
    });
    writing.add(lane);
    try {
      for (const action of own) {
        if (late) break;
        const { scan } = action;
        const uid = (current = scan.metadata.uid!);
        const startedAt = clock.monotonic();
        const onRefusal = (err: unknown): void => {
          // One that took long speaks for the whole share.
          const tookLong = clock.monotonic() - startedAt >= PLAN_WAIT_MS;
          refused.set(tookLong ? lane : uid, clock.monotonic() + REFUSED_FOR_MS);
          logger.warn({ key: keyOf(scan), err }, 'cannot write to a waiting scan, leaving it out for a while');
        };
        const within = AbortSignal.any([signal, stopped.signal, AbortSignal.timeout(WRITE_WITHIN_MS)]);
        const written = await skipConflict(() => execute(context, action, facts, within), onRefusal).catch((error: unknown) => {
          if (!late || signal.aborted || stopped.signal.aborted) throw error;
          onRefusal(error);
          return false;
        });
        // The next plan updates the status of a waiting scan.
        if (!written && action.do === 'admit') done = false;
      }
    } finally {
      cancel();
      current = '';
      giveBack();
      writing.delete(lane);
      if (late) enqueue(toKey(facts.namespace, facts.name));
    }
    return done;
  }

  const enqueue = manager.add({
    name: 'queue',
    workers: WORKERS,
    maxBackOffMs: 5_000,
    sources: [...sourcesOf(context, organisations), () => () => stopped.abort()],
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
      return void (await scanClient.patchStatus(action.scan, admittedStatus(action.scan, now, action.pods), signal));
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
