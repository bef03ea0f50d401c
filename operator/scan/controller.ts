/**
 * The AccessibilityScan controller. For each change that concerns a scan it reads the facts (`gather`), lets the policy decide
 * (`plan`), and executes the actions, until the plan is empty.
 */
import {
  type AccessibilityScan,
  jobNameOf,
  type KubernetesObject,
  queueOf,
  requestOf,
  SCAN_ID_LABEL,
  scanIdOf,
} from '../../core/protocol/custom-resources.ts';
import type { OperatorContext } from '../context.ts';
import { fromKey, keyOf } from '../runtime/cache.ts';
import { conditionOf } from '../runtime/conditions.ts';
import { createPlannedReconcile, type Next } from '../runtime/controller.ts';
import { type Source, watch } from '../runtime/manager.ts';
import { execute, isLeaving } from './actions.ts';
import { isAdmitted, isOwnedBy, isPodTerminal, type Job, type Pod } from './kube-types.ts';
import { startFailureOf } from './launch/children.ts';
import { createPhaseTracker } from './metrics.ts';
import { type Action, type Facts, type ReconcileState, timeoutsOf } from './policy/facts.ts';
import { plan } from './policy/plan.ts';
import { byAttempt } from './policy/pods.ts';
import { hasEnded, phaseOf } from './policy/status.ts';
import { addVettingController } from './launch/vetting.ts';
import { addResultsController } from './results/controller.ts';

/** Frequent actions, logged at debug level. */
const FREQUENT: ReadonlySet<Action['do']> = new Set(['mirror', 'observe']);

/** The actions after which the scan has no Job, or another one. */
const NEW_JOB: ReadonlySet<Action['do']> = new Set(['release', 'replaceJob', 'requeue']);

/** Adds the controllers of scans and of their results. @returns a function that writes the row of a scan again */
export function addScanController(context: OperatorContext): (scan: AccessibilityScan) => void {
  const { manager, scanClient, scanStates, settings } = context;
  const uptime = createBusUptime(context);
  const timeouts = timeoutsOf(settings.timeouts);
  const enqueueResults = addResultsController(context, (key) => enqueue(key));
  const enqueueVetting = addVettingController(context, timeouts.resolveMs, (key) => enqueue(key));
  trackChanges(context);

  const enqueue = manager.add({
    name: 'scan',
    queueName: 'scans',
    workers: settings.scanWorkers,
    shareOf: context.shareOf,
    sources: [...sourcesOf(context), () => uptime.start()],
    // The finalizer of a deleted scan must not keep its namespace, whose Roles may already be gone.
    isUrgent(key) {
      const { namespace, name } = fromKey(key);
      return scanClient.get(namespace, name)?.metadata.deletionTimestamp !== undefined;
    },
    reconcile: createPlannedReconcile<Facts, Action>({
      async gather(key, signal) {
        const { namespace, name } = fromKey(key);
        const scan = scanClient.get(namespace, name);
        return scan === undefined ? null : gather(context, scan, uptime.since(), signal);
      },
      plan: (facts) => plan(facts, timeouts),
      async execute({ actions }, facts, signal) {
        const next = await act(context, actions, facts, signal);
        if (actions.some((action) => action.do === 'search' || action.do === 'ingest')) enqueueResults(keyOf(facts.scan));
        if (actions.some((action) => action.do === 'vet')) enqueueVetting(keyOf(facts.scan));
        return next;
      },
    }),
  });
  return (scan) => {
    const state = scanStates.find(scan.metadata.uid!);
    if (state !== undefined) state.mirrored = null;
    enqueue(keyOf(scan));
  };
}

/** Each change of a scan, its Job or its pods, each Event about a failed start, and each new message of a pod enqueues the scan. */
function sourcesOf({
  scanClient,
  jobs,
  pods,
  startFailures,
  podMessages,
  bus,
  verifier,
  metrics,
  logger,
  clock,
}: OperatorContext): Source[] {
  const scansOf = (child: KubernetesObject | undefined) =>
    child === undefined ? [] : scanClient.byIndex('id', child.metadata.labels?.[SCAN_ID_LABEL] ?? '').map(keyOf);
  return [
    watch(scanClient, ({ object }) => [keyOf(object)]),
    watch(jobs, ({ object }) => scansOf(object)),
    watch(pods, ({ object }) => scansOf(object)),
    ...startFailures.map((failures) =>
      watch(failures, ({ object: { metadata, involvedObject } }) => {
        const [namespace, name] = [metadata.namespace!, involvedObject.name ?? ''];
        return scansOf(jobs.get(namespace, name) ?? pods.get(namespace, name));
      }),
    ),
    (enqueue) =>
      bus.followProgress((scanId, payload) => {
        const scan = scanClient.byIndex('id', scanId)[0];
        if (scan === undefined || hasEnded(scan)) return metrics.podMessage('unknown');
        const job = jobs.get(scan.metadata.namespace!, jobNameOf(scanId));
        const known = job !== undefined && isOwnedBy(job, scan.metadata.uid!) ? pods.byIndex('owner', job.metadata.uid!) : [];
        const result = podMessages.take(scanId, payload, known, clock.now());
        metrics.podMessage(result);
        if (result === 'refused') logger.debug({ scan: scanId }, 'pod message refused');
        if (result !== 'news') return;
        // A pod that works stores its results soon.
        verifier.expect();
        enqueue(keyOf(scan));
      }),
  ];
}

/** Updates the phase metrics of each scan and drops the state of deleted scans. */
function trackChanges({ scanClient, scanStates, podMessages, metrics, settings, clock }: OperatorContext): void {
  const phases = createPhaseTracker({ now: clock.now, onChange: metrics.phaseChanged });
  scanClient.onChange(({ type, object }) => {
    if (type !== 'deleted') return phases.seen(object);
    phases.gone(object);
    scanStates.forget(object.metadata.uid!);
    podMessages.forget(scanIdOf(object, settings.namespace));
  });
}

/**
 * Gathers the facts about a scan from the caches, its pods' messages, and the API server if a cache may lag behind.
 * @param busSince the start of the current bus connection; null while disconnected
 */
async function gather(context: OperatorContext, scan: AccessibilityScan, busSince: Date | null, signal: AbortSignal): Promise<Facts> {
  const { settings, scanStates, pods, startFailures, podMessages, queueClient, clock } = context;
  const now = clock.now();
  const scanId = scanIdOf(scan, settings.namespace);
  const state = scanStates.of(scan.metadata.uid!);
  // The answer to the write that gave its place back may have been lost.
  if (!isAdmitted(scan)) state.launched = false;
  const job = await jobOf(context, scan, { scanId, state }, signal);
  const own = job === null ? [] : byAttempt(withSearched(pods.byIndex('owner', job.metadata.uid!), state, now));
  const alive = own.some((pod) => !isPodTerminal(pod));
  state.noPodSince = job === null || alive ? null : (state.noPodSince ?? now);
  return {
    scan,
    scanId,
    now,
    job,
    scannerImage: settings.scanner.image,
    retries: settings.scanner.retries,
    pods: own,
    startFailure: job && startFailureOf(startFailures, own.at(-1) ?? job),
    podMessages: podMessages.of(scanId),
    queuePauses: queueClient.pausesOf(queueOf(scan)),
    busSince,
    state,
  };
}

async function jobOf(
  { jobs, children }: OperatorContext,
  scan: AccessibilityScan,
  { scanId, state }: Pick<Facts, 'scanId' | 'state'>,
  signal: AbortSignal,
): Promise<Job | null> {
  const cached = jobs.get(scan.metadata.namespace!, jobNameOf(scanId));
  if (cached !== undefined && isOwnedBy(cached, scan.metadata.uid!)) {
    const { uid, deletionTimestamp } = cached.metadata;
    // It counts as gone, although finalizers keep it.
    const isReplaced = uid === scan.status?.replacedJob || !isAdmitted(scan);
    return deletionTimestamp !== undefined && (hasEnded(scan) || isReplaced) ? null : cached;
  }
  // The cache does not hold a Job that was created: it is gone, or the cache lags behind. Ask the API server, unless the scan is
  // being deleted: garbage collection deletes its Job.
  const needed = !hasEnded(scan) && scan.metadata.deletionTimestamp === undefined;
  return (scan.status?.jobName !== undefined || state.launched) && needed ? children.readJob(scan, scanId, signal) : null;
}

/** The time for which pods that only a search has seen count as running, in milliseconds. */
const SEARCHED_FOR_MS = 15_000;

/** Adds the pods that the API server listed in the last search, if the cache has not seen them or their end. */
function withSearched(cached: readonly Pod[], { search }: ReconcileState, now: Date): Pod[] {
  if (search === null) return [...cached];
  const current = now.getTime() - search.at.getTime() < SEARCHED_FOR_MS;
  const byUid = new Map(cached.map((pod) => [pod.metadata.uid!, pod]));
  for (const pod of search.pods) {
    const known = byUid.get(pod.metadata.uid!);
    if (isPodTerminal(pod) ? known === undefined || !isPodTerminal(known) : known === undefined && current)
      byUid.set(pod.metadata.uid!, pod);
  }
  return [...byUid.values()];
}

/** Executes the actions of a plan in order, and logs them. */
async function act(context: OperatorContext, actions: readonly Action[], facts: Facts, signal: AbortSignal): Promise<Next> {
  const { scanClient, podMessages, logger } = context;
  const started = performance.now();
  let { scan } = facts;
  for (const action of actions) {
    signal.throwIfAborted();
    // A new plan settles it. Nothing is admitted or launched any more.
    if (isLeaving(context, facts.scan)) break;
    scan = await execute(context, action, { facts, scan, signal });
  }
  const after = scanClient.get(scan.metadata.namespace!, scan.metadata.name) ?? facts.scan;
  const names = actions.map((action) => action.do);
  logger[names.every((name) => FREQUENT.has(name)) ? 'debug' : 'info'](
    {
      scan: facts.scanId,
      request: requestOf(scan),
      key: keyOf(scan),
      phase: phaseOf(after),
      reason: conditionOf(after.status?.conditions, 'Succeeded')?.reason,
      actions: names,
      durationMs: Math.round((performance.now() - started) * 10) / 10,
    },
    'reconciled',
  );
  // The attempts of a new Job count from 0 again.
  if (names.some((name) => NEW_JOB.has(name))) podMessages.forget(facts.scanId);
  return 'again';
}

/** A shorter interruption loses at most one message. */
const CHECK_EVERY_MS = 1_000;

/** Tracks how long the message bus has been connected, because a pod is not stuck while its messages cannot arrive. */
function createBusUptime({ bus, clock }: OperatorContext) {
  let connectedSince: Date | null = null;
  const since = (): Date | null => (connectedSince = bus.connected ? (connectedSince ?? clock.now()) : null);
  return {
    /** The start of the current connection; null while disconnected. */
    since,
    /** Starts to check the connection. @returns a function that stops it */
    start() {
      const timer = setInterval(since, CHECK_EVERY_MS);
      timer.unref();
      return () => clearInterval(timer);
    },
  };
}
