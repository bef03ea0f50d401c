/** The AccessibilityScan controller: its sources, and its gather, plan and execute steps. */
import { SCAN_ID_LABEL, jobNameOf, scanIdOf, type AccessibilityScan, type KubernetesObject } from '../../core/protocol/custom-resources.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Resolver } from '../../core/scan/targets.ts';
import { NO_TRACER, type Tracer } from '../../platform/tracing.ts';
import type { KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import type { MessageBus } from '../../stores/nats.ts';
import type { Reports } from '../../stores/reports.ts';
import type { AllStores } from '../../stores/stores.ts';
import type { OperatorMetrics } from '../metrics.ts';
import type { Clock } from '../../platform/clock.ts';
import { fromKey, keyOf } from '../runtime/key.ts';
import { watch, type Manager, type Source } from '../runtime/controller/manager.ts';
import { createPlannedReconcile } from '../runtime/controller/planned-reconcile.ts';
import type { Cache } from '../runtime/cache/cache.ts';
import type { ResourceClient } from '../runtime/resource-client.ts';
import type { AdmissionGate } from '../queue/gate.ts';
import type { QueueClient } from '../queue/queue-client.ts';
import type { Recorder } from '../runtime/events/recorder.ts';
import type { OperatorSettings } from '../settings.ts';
import { createActions, type ActionDeps, type RunActions } from './actions.ts';
import { createBusUptime } from './bus-uptime.ts';
import { createExecute } from './execute.ts';
import { createGather } from './gather.ts';
import { JOBS, PODS, controllerUids, essentialJob, essentialPod, isOwnedBy, type Job, type Pod } from './kube-types.ts';
import { createChildren, type Children } from './launch/children.ts';
import { watchStartFailures, type StartFailure } from './launch/start-failures.ts';
import { createBaselineChoice } from './launch/choose-baseline.ts';
import { createLauncher } from './launch/launch.ts';
import { createPreflight } from './launch/preflight.ts';
import type { Mirror } from './mirror.ts';
import { createPhaseTracker } from './phase-metrics.ts';
import { plan, type Action, type Facts, type Timeouts } from './policy/plan.ts';
import { CANCEL_SECONDS } from './policy/run-time.ts';
import { hasEnded } from './policy/status.ts';
import { createReconcileStates, type ReconcileStates } from './reconcile-state.ts';
import { addResultsController } from './results/controller.ts';
import type { Semaphore } from '../../platform/concurrency/semaphore.ts';
import { createIngestion } from './results/ingest.ts';
import { createVerifier, type Verifier } from './results/verifier.ts';
import { instrumentIngestion } from './results/instrumented.ts';
import { createPodMessageLog, type PodMessageLog } from './results/pod-message-log.ts';
import type { ScanClient } from './scan-client.ts';
import { createScanTraces, type ScanTraces } from './traces.ts';

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
