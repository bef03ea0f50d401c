/** The AccessibilityScan controller: its sources, and its gather, plan and execute steps. */
import {
  type AccessibilityScan,
  jobNameOf,
  type KubernetesObject,
  queueOf,
  type QueuePause,
  requestOf,
  SCAN_ID_LABEL,
  scanIdOf,
} from '../../core/protocol/custom-resources.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Resolver } from '../../core/scan/targets.ts';
import { NO_TRACER, type Tracer } from '../../platform/tracing.ts';
import type { KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import type { MessageBus } from '../../stores/nats.ts';
import type { Reports } from '../../stores/reports.ts';
import type { AllStores } from '../../stores/stores.ts';
import type { OperatorMetrics } from '../metrics.ts';
import type { Clock } from '../../platform/clock.ts';
import { type Cache, fromKey, keyOf } from '../runtime/cache.ts';
import { type Manager, type Source, watch } from '../runtime/manager.ts';
import { createPlannedReconcile, type Planned } from '../runtime/controller.ts';
import type { ResourceClient } from '../runtime/resource-client.ts';
import type { AdmissionGate } from '../queue/places.ts';
import type { QueueClient } from '../queue/queue-client.ts';
import type { Recorder } from '../runtime/events.ts';
import type { OperatorSettings } from '../settings.ts';
import type { Semaphore } from '../../platform/concurrency/semaphore.ts';
import { conditionOf } from '../runtime/conditions.ts';
import { type ActionDeps, createActions, type RunActions } from './actions.ts';
import {
  controllerUids,
  essentialJob,
  essentialPod,
  isOwnedBy,
  isPodTerminal,
  type Job,
  JOBS,
  type Pod,
  PODS,
  type ScanClient,
} from './kube-types.ts';
import { type Children, createChildren, type StartFailure, startFailureOf, watchStartFailures } from './launch/children.ts';
import { createBaselineChoice, createPreflight } from './launch/preflight.ts';
import { createLauncher } from './launch/launch.ts';
import type { Mirror } from './mirror.ts';
import { createPhaseTracker } from './metrics.ts';
import { plan } from './policy/plan.ts';
import type { Action, Facts, Timeouts } from './policy/facts.ts';
import { CANCEL_SECONDS, createReconcileStates, type ReconcileState, type ReconcileStates } from './policy/facts.ts';
import { hasEnded, phaseOf } from './policy/status.ts';
import { addResultsController } from './results/controller.ts';
import { createIngestion, instrumentIngestion } from './results/ingest.ts';
import { createVerifier, type Verifier } from './results/verifier.ts';
import { createPodMessageLog, type PodMessageLog } from './results/pod-message-log.ts';
import { createScanTraces, type ScanTraces } from './traces.ts';
import { byAttempt } from './policy/pods.ts';
export interface ScanControllerDeps {
  connection: KubernetesConnection;
  scanClient: ScanClient;
  stores: Pick<AllStores, 'scans' | 'credits' | 'organisations' | 'dashboardSchedules' | 'knownIssues'>;
  reports: Reports;
  bus: MessageBus;
  mirror: Mirror;
  gate: AdmissionGate;
  queueClient: Pick<QueueClient, 'pausesOf'>;
  /** Shared with the comparison of exports. */
  largeExports: Semaphore;
  /** Default: one with worker threads. */
  verifier?: Verifier;
  resolver: Resolver;
  recorder: Recorder;
  settings: OperatorSettings;
  metrics: OperatorMetrics;
  /** Default: no tracing. */
  tracer?: Tracer;
  logger: Logger;
  clock: Clock;
}

type ScanManager = Pick<Manager, 'watch' | 'watchResource' | 'add'>;

const TIMEOUTS: Omit<Timeouts, 'queueMs' | 'pendingMs' | 'stuckMs' | 'jobTtlMs'> = {
  launchMs: 30_000,
  requeueBaseMs: 10_000,
  requeueMaxMs: 600_000,
  lostPodMs: 60_000,
  lingerMs: 60_000,
  jobEndGraceMs: 5_000,
  podStateMs: 2_000,
  statusEveryMs: 5_000,
  mirrorEveryMs: 500,
  cancelMs: CANCEL_SECONDS * 1000,
  resolveMs: 120_000,
  resolveAgainMs: 2_000,
};

/** State shared by the sources, the gatherer and the executor. */
interface Shared {
  jobs: ResourceClient<Job>;
  pods: Cache<Pod>;
  failures: readonly Cache<StartFailure>[];
  children: Children;
  podMessages: PodMessageLog;
  states: ReconcileStates;
  traces: ScanTraces;
  verifier: Verifier;
  enqueue: (key: string) => void;
  now: () => Date;
}

/** Adds the controllers of scans and of their results. @returns a function that writes the row of a scan again */
export function addScanController(manager: ScanManager, deps: ScanControllerDeps): (scan: AccessibilityScan) => void {
  const { scanClient, bus, settings, clock } = deps;
  const shared: Shared = {
    ...watchChildren(manager, settings.watchNamespaces),
    children: createChildren(deps.connection),
    podMessages: createPodMessageLog(),
    states: createReconcileStates(),
    traces: createScanTraces(deps.tracer ?? NO_TRACER),
    verifier: deps.verifier ?? createVerifier({ memoryMib: settings.ingest.memoryMib }),
    enqueue: (key) => enqueue(key),
    now: clock.now,
  };
  const uptime = createBusUptime(bus, shared.now);
  const gather = createGather({
    ...shared,
    apiNamespace: settings.namespace,
    scannerImage: settings.scanner.image,
    busSince: uptime.since,
    pausesOf: deps.queueClient.pausesOf,
  });
  const timeouts = { ...TIMEOUTS, ...settings.timeouts };
  trackChanges(deps, shared);

  const enqueue = manager.add({
    name: 'scan',
    queueName: 'scans',
    workers: settings.scanWorkers,
    sources: [
      watch(scanClient, ({ object }) => [keyOf(object)]),
      watch(shared.jobs, ({ object }) => scanKeysOf(object, scanClient)),
      watch(shared.pods, ({ object }) => scanKeysOf(object, scanClient)),
      ...shared.failures.map((failures) =>
        watch(failures, ({ object: { metadata, involvedObject } }) => {
          const [namespace, name] = [metadata.namespace!, involvedObject.name ?? ''];
          const child = shared.jobs.get(namespace, name) ?? shared.pods.get(namespace, name);
          return child === undefined ? [] : scanKeysOf(child, scanClient);
        }),
      ),
      podMessageSource(deps, shared),
      () => uptime.start(),
    ],
    // The finalizer of a deleted scan must not keep its namespace, whose Roles may already be gone.
    isUrgent(key) {
      const { namespace, name } = fromKey(key);
      return scanClient.get(namespace, name)?.metadata.deletionTimestamp !== undefined;
    },
    reconcile: createPlannedReconcile<Facts, Action>({
      async gather(key, signal) {
        const { namespace, name } = fromKey(key);
        const scan = scanClient.get(namespace, name);
        return scan === undefined ? null : gather(scan, signal);
      },
      plan: (facts) => plan(facts, timeouts),
      execute: createExecute({
        scanClient,
        runActions: createScanActions(manager, deps, shared),
        podMessages: shared.podMessages,
        logger: deps.logger,
      }),
    }),
  });
  return (scan) => {
    const state = shared.states.find(scan.metadata.uid!);
    if (state !== undefined) state.mirrored = null;
    enqueue(keyOf(scan));
  };
}

/** Watches the Jobs and pods of scans, and the Events of failed starts. Pods are indexed by the uid of their Job. */
function watchChildren(manager: ScanManager, namespaces: readonly string[]): Pick<Shared, 'jobs' | 'pods' | 'failures'> {
  return {
    jobs: manager.watchResource<Job>({ resource: JOBS, namespaces, labelSelector: SCAN_ID_LABEL, keep: essentialJob }),
    pods: manager.watch<Pod>({
      resource: PODS,
      namespaces,
      labelSelector: SCAN_ID_LABEL,
      keep: essentialPod,
      indexes: { owner: controllerUids },
    }),
    failures: watchStartFailures(manager, namespaces),
  };
}

function scanKeysOf(child: KubernetesObject, scanClient: ScanClient): string[] {
  return scanClient.byIndex('id', child.metadata.labels?.[SCAN_ID_LABEL] ?? '').map(keyOf);
}

/** Updates the phase metrics of each scan and drops the state of deleted scans. */
function trackChanges({ scanClient, metrics, settings }: ScanControllerDeps, { states, podMessages, now }: Shared): void {
  const phases = createPhaseTracker({ now, onChange: metrics.phaseChanged });
  scanClient.onChange(({ type, object }) => {
    if (type !== 'deleted') return phases.seen(object);
    phases.gone(object);
    states.forget(object.metadata.uid!);
    podMessages.forget(scanIdOf(object, settings.namespace));
  });
}

/** Enqueues a scan for each new message of its pods on the bus. */
function podMessageSource({ bus, scanClient, metrics, logger }: ScanControllerDeps, shared: Shared): Source {
  const { jobs, pods, podMessages, verifier, now } = shared;
  return (enqueue) =>
    bus.followProgress((scanId, payload) => {
      const scan = scanClient.byIndex('id', scanId)[0];
      if (scan === undefined || hasEnded(scan)) return metrics.podMessage('unknown');
      const job = jobs.get(scan.metadata.namespace!, jobNameOf(scanId));
      const known = job !== undefined && isOwnedBy(job, scan.metadata.uid!) ? pods.byIndex('owner', job.metadata.uid!) : [];
      const result = podMessages.take(scanId, payload, known, now());
      metrics.podMessage(result);
      if (result === 'refused') logger.debug({ scan: scanId }, 'pod message refused');
      if (result !== 'news') return;
      // A pod that works stores its results soon.
      verifier.expect();
      enqueue(keyOf(scan));
    });
}

/** @returns a function that starts work on the results of a scan */
function createStartTask(manager: ScanManager, deps: ScanControllerDeps, shared: Shared): ActionDeps['startTask'] {
  const { scanClient, reports, settings, metrics, largeExports } = deps;
  const { children, states, traces, verifier, now } = shared;
  const ingestion = createIngestion({ reports, bounds: settings.ingest, verifier, onPages: metrics.pagesVisited });
  const enqueue = addResultsController(manager, {
    scanClient,
    states,
    children,
    reports,
    scans: deps.stores.scans,
    knownIssues: deps.stores.knownIssues,
    ingestion: instrumentIngestion(ingestion, metrics, deps.clock),
    verifier,
    largeExports,
    traces,
    apiNamespace: settings.namespace,
    enqueueScan: (key) => shared.enqueue(key),
    now,
  });
  return (scan, state, task) => {
    state.task = task;
    enqueue(keyOf(scan));
  };
}

function createScanActions(manager: ScanManager, deps: ScanControllerDeps, shared: Shared): RunActions {
  const { jobs, children, traces, now } = shared;
  const { scanClient, stores, reports, bus, settings, metrics, mirror, recorder } = deps;
  const { maxPagesLimit, targets, podTemplate, scanner, pod, runTime, namespace: apiNamespace } = settings;
  return createActions({
    scanClient,
    jobs,
    children,
    gate: deps.gate,
    preflight: createPreflight({
      ...stores,
      resolver: deps.resolver,
      apiNamespace,
      maxPagesLimit,
      targets,
      podTemplate,
      now,
    }),
    chooseBaseline: createBaselineChoice({ scans: stores.scans, retentionDays: settings.retentionDays, now }),
    launch: createLauncher({ children, scans: stores.scans, knownIssues: stores.knownIssues, reports, bus, scanner, pod, runTime, traces }),
    startTask: createStartTask(manager, deps, shared),
    mirror,
    reports,
    recorder,
    retries: scanner.retries,
    traces,
    logger: deps.logger,
    onEnd: metrics.ended,
    onRequeue: metrics.requeued,
  });
}

/** Executes and logs a scan's plan. */
interface ExecuteDeps {
  scanClient: ScanClient;
  runActions: RunActions;
  podMessages: PodMessageLog;
  logger: Logger;
}

/** Frequent actions, logged at debug level. */
const FREQUENT: ReadonlySet<Action['do']> = new Set(['mirror', 'observe']);

function createExecute(deps: ExecuteDeps): Planned<Facts, Action>['execute'] {
  const { scanClient, runActions, podMessages, logger } = deps;

  return async ({ actions }, facts, signal) => {
    const { scan, scanId } = facts;
    const started = performance.now();
    await runActions(actions, facts, signal);
    const after = scanClient.get(scan.metadata.namespace!, scan.metadata.name) ?? scan;
    const names = actions.map((action) => action.do);
    logger[names.every((name) => FREQUENT.has(name)) ? 'debug' : 'info'](
      {
        scan: scanId,
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
    if (names.includes('release') || names.includes('replaceJob')) podMessages.forget(scanId);
    return 'again';
  };
}

/** Gathers the facts about a scan from the caches, its pods' messages, and the API server if a cache may lag behind. */
interface GatherDeps {
  jobs: { get(namespace: string, name: string): Job | undefined };
  /** Has the index `owner`, by the uid of the owner. */
  pods: { byIndex(name: string, value: string): Pod[] };
  /** Have the index `object`, by the uid of the Job or pod. */
  failures: Parameters<typeof startFailureOf>[0];
  children: Children;
  states: ReconcileStates;
  podMessages: PodMessageLog;
  /** The start of the current bus connection; null while disconnected. */
  busSince: () => Date | null;
  /** The pauses of a queue; null before the queues are listed. */
  pausesOf: (queue: string) => readonly QueuePause[] | null;
  apiNamespace: string;
  scannerImage: string;
  now: () => Date;
}

type Gather = (scan: AccessibilityScan, signal: AbortSignal) => Promise<Facts>;

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

function createGather(deps: GatherDeps): Gather {
  const { jobs, pods, children, states, podMessages } = deps;

  async function jobOf(scan: AccessibilityScan, scanId: string, state: ReconcileState, signal: AbortSignal): Promise<Job | null> {
    const cached = jobs.get(scan.metadata.namespace!, jobNameOf(scanId));
    if (cached !== undefined && isOwnedBy(cached, scan.metadata.uid!)) {
      const { uid, deletionTimestamp } = cached.metadata;
      // It counts as gone, although finalizers keep it.
      return deletionTimestamp !== undefined && (hasEnded(scan) || uid === scan.status?.replacedJob) ? null : cached;
    }
    // The cache does not hold a Job that was created: it is gone, or the cache lags behind. Ask the API server, unless the scan is
    // being deleted: garbage collection deletes its Job.
    const needed = !hasEnded(scan) && scan.metadata.deletionTimestamp === undefined;
    return (scan.status?.jobName !== undefined || state.launched) && needed ? children.readJob(scan, scanId, signal) : null;
  }

  return async (scan, signal) => {
    const now = deps.now();
    const scanId = scanIdOf(scan, deps.apiNamespace);
    const state = states.of(scan.metadata.uid!);
    const job = await jobOf(scan, scanId, state, signal);
    const own = job === null ? [] : byAttempt(withSearched(pods.byIndex('owner', job.metadata.uid!), state, now));
    const alive = own.some((pod) => !isPodTerminal(pod));
    state.noPodSince = job === null || alive ? null : (state.noPodSince ?? now);
    return {
      scan,
      scanId,
      now,
      job,
      scannerImage: deps.scannerImage,
      pods: own,
      startFailure: job && startFailureOf(deps.failures, own.at(-1) ?? job),
      podMessages: podMessages.of(scanId),
      queuePauses: deps.pausesOf(queueOf(scan)),
      busSince: deps.busSince(),
      state,
    };
  };
}

/** Tracks how long the message bus has been connected, because a pod is not stuck while its messages cannot arrive. */
interface BusUptime {
  /** Starts to check the connection. @returns a function that stops it */
  start(): () => void;
  /** The start of the current connection; null while disconnected. */
  since(): Date | null;
}

/** A shorter interruption loses at most one message. */
const CHECK_EVERY_MS = 1_000;

function createBusUptime(bus: Pick<MessageBus, 'connected'>, now: () => Date): BusUptime {
  let connectedSince: Date | null = null;
  const check = () => {
    connectedSince = bus.connected ? (connectedSince ?? now()) : null;
  };
  return {
    start() {
      const timer = setInterval(check, CHECK_EVERY_MS);
      timer.unref();
      return () => clearInterval(timer);
    },
    since() {
      check();
      return connectedSince;
    },
  };
}
