/** The ScanSchedule controller: its sources, and its gather, plan and execute steps. */
import { type AccessibilityScan, classOf } from '../../core/protocol/custom-resources.ts';
import type { ScanSchedule, ScanScheduleSpec } from '../../core/protocol/scan-schedules.ts';
import type { Logger } from '../../platform/logger.ts';
import { type KubernetesConnection, readIfThere } from '../../platform/kubernetes/kubernetes.ts';
import type { AllStores } from '../../stores/stores.ts';
import type { OperatorMetrics } from '../metrics.ts';
import { type CacheEvent, fromKey, keyOf, toKey } from '../runtime/cache.ts';
import type { Clock } from '../../platform/clock.ts';
import type { PeriodicTask } from '../../platform/periodic.ts';
import { type Manager, watch } from '../runtime/manager.ts';
import { createPlannedReconcile } from '../runtime/controller.ts';
import type { Recorder } from '../runtime/events.ts';
import type { ResourceClient } from '../runtime/resource-client.ts';
import { controllerUids, type ScanClient, SCANS, SCHEDULES } from '../scan/kube-types.ts';
import { hasEnded } from '../scan/policy/status.ts';
import type { ReportComparer } from '../../report/workers/compare.ts';
import type { OperatorSettings } from '../settings.ts';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import { type ParsedSchedule, parseSchedule } from '../../core/schedule/times.ts';
import { addComparisonController, createScheduleActions } from './actions.ts';
import { addScheduleMirror } from './mirror.ts';
import { createNamespaceOwners, type NamespaceOwners, ownedKeyOf, ownerOfSchedule } from './owners.ts';
import { CREATED_CHECK_MS, planSchedule } from './policy/plan.ts';
import { createScheduleStates, type ScheduleAction, type ScheduleFacts, type ScheduleState, type ScheduleStates } from './policy/facts.ts';
import { jitterOf, timesWithoutResult } from './policy/starts.ts';
import { recordedBefore } from './policy/history.ts';

export interface ScheduleControllerDeps {
  connection: KubernetesConnection;
  scanClient: ScanClient;
  stores: Pick<AllStores, 'organisations' | 'schedules' | 'dashboardSchedules' | 'webhookEvents'>;
  comparer: ReportComparer;
  recorder: Recorder;
  settings: Pick<OperatorSettings, 'namespace' | 'watchNamespaces' | 'operatorClass' | 'scanWorkers' | 'schedulesEveryMs'>;
  metrics: Pick<OperatorMetrics, 'schedules' | 'scheduleSeries'>;
  logger: Logger;
  clock: Clock;
}

/** The interval at which schedules notice that their organisation was blocked or unblocked, in milliseconds. */
const OWNERS_EVERY_MS = 5_000;
/** The longest back-off of a schedule, in milliseconds: an outage must not delay its scans for long after it has ended. */
const MAX_BACK_OFF_MS = 5_000;

const FIRST: ReadonlySet<ScheduleAction['do']> = new Set(['start', 'cancel']);

type ScheduleManager = Pick<Manager, 'watchResource' | 'add' | 'addTask'>;

/** Adds the controllers and the task of schedules to the manager. */
export function addScheduleController(manager: ScheduleManager, deps: ScheduleControllerDeps): void {
  const { scanClient, settings, clock } = deps;
  const { watchNamespaces } = settings;
  const { now } = clock;
  const states = createScheduleStates();
  const owners = createNamespaceOwners(deps.stores.organisations, deps.stores.dashboardSchedules, clock.monotonic);
  const [listed, unreadable] = [new Set<string>(), new Set<string>()];
  const schedules = manager.watchResource<ScanSchedule>({
    resource: SCHEDULES,
    namespaces: watchNamespaces,
    // The class cannot be changed.
    accepts: ({ spec }) => classOf(spec.scanTemplate) === settings.operatorClass,
    // Scans run where schedules cannot be read, as after an upgrade without the custom resource definition.
    optional: true,
    onListed(error, _failures, namespace) {
      if (error === null) listed.add(namespace);
      unreadable[error === null ? 'delete' : 'add'](namespace);
    },
  });
  const parse = createScheduleParser();
  deps.metrics.scheduleSeries.read({
    list: schedules.list,
    unreadable: () => unreadable.size > 0,
    timesWithoutResult: (schedule) => timesWithoutResult(schedule, parse(schedule.spec), now()),
  });
  schedules.onChange(({ type, object }) => type === 'deleted' && states.forget(object.metadata.uid!));
  scanClient.onChange(({ type, object }) => type === 'deleted' && forgetChild(states, object));

  const comparisons = { schedules, states, comparer: deps.comparer, enqueueSchedule: (key: string) => enqueue(key), now };
  const compareNow = addComparisonController(manager, comparisons);
  const runAction = createScheduleActions({
    ...deps,
    webhookEvents: deps.stores.webhookEvents,
    schedules,
    compare: (schedule) => compareNow(keyOf(schedule)),
    now,
  });
  const gather = createGather({ ...deps, states, owners, apiNamespace: settings.namespace, parse, now });
  const reconcile = createPlannedReconcile<ScheduleFacts, ScheduleAction>({
    async gather(key, signal) {
      const { namespace, name } = fromKey(key);
      const schedule = schedules.get(namespace, name);
      return schedule === undefined ? null : gather(schedule, signal);
    },
    plan: planSchedule,
    async execute({ actions }, facts, signal) {
      for (const action of actions) {
        signal.throwIfAborted();
        await runAction(action, facts, signal);
      }
      // When many schedules are due, each of them starts its scan before the first one writes its status.
      return actions.some((action) => FIRST.has(action.do)) ? { requeueAfterMs: 0 } : 'again';
    },
  });
  const enqueue = manager.add({
    name: 'schedule',
    queueName: 'schedules',
    workers: settings.scanWorkers,
    maxBackOffMs: MAX_BACK_OFF_MS,
    sources: [watch(schedules, ({ object }) => [keyOf(object)]), watch(scanClient, schedulesOf)],
    reconcile,
  });
  // In a namespace that is not watched any more, the operator starts no scans.
  const isListed = (namespace: string) =>
    watchNamespaces.length === 0 ? listed.has('') : listed.has(namespace) || !watchNamespaces.includes(namespace);
  const enqueueMirror = addScheduleMirror(manager, {
    schedules,
    isListed,
    scanClient,
    owners,
    store: deps.stores.schedules,
    operatorClass: settings.operatorClass,
    apiNamespace: settings.namespace,
    everyMs: settings.schedulesEveryMs,
    now,
  });
  manager.addTask(
    ownersTask(owners, schedules, settings.namespace, (schedule) => {
      enqueue(keyOf(schedule));
      enqueueMirror(keyOf(schedule));
    }),
  );
}

function forgetChild(states: ScheduleStates, { metadata }: AccessibilityScan): void {
  const state = states.find(controllerUids({ apiVersion: '', kind: '', metadata })[0] ?? '');
  if (state?.created.get(metadata.name)?.scan.metadata.uid === metadata.uid) state?.created.delete(metadata.name);
}

/** The schedule of a scan, if the change matters to it. The progress of a scan does not. */
function schedulesOf({ type, object, previous }: CacheEvent<AccessibilityScan>): string[] {
  const owner = object.metadata.ownerReferences?.find(({ kind, controller }) => controller && kind === 'ScanSchedule');
  if (owner === undefined) return [];
  const same =
    type === 'modified' &&
    previous !== undefined &&
    hasEnded(previous) === hasEnded(object) &&
    previous.metadata.deletionTimestamp === object.metadata.deletionTimestamp &&
    (previous.metadata.finalizers?.length ?? 0) === (object.metadata.finalizers?.length ?? 0);
  return same ? [] : [toKey(object.metadata.namespace, owner.name)];
}

/** Plans schedules again when their organisation changes. */
function ownersTask(
  owners: NamespaceOwners,
  schedules: Pick<ResourceClient<ScanSchedule>, 'list'>,
  apiNamespace: string,
  enqueue: (schedule: ScanSchedule) => void,
): PeriodicTask {
  return {
    name: 'organisations of schedules',
    everyMs: OWNERS_EVERY_MS,
    async run() {
      const all = schedules.list();
      if (all.length === 0) return;
      const keyed = all.map((schedule) => ({ schedule, key: ownedKeyOf(schedule.metadata, apiNamespace) }));
      const changed = new Set(await owners.refresh(keyed.map(({ key }) => key)));
      for (const { schedule, key } of keyed) if (changed.has(key)) enqueue(schedule);
    },
  };
}

/** Gathers the facts about a schedule from the caches, and asks the API server about a created scan that the cache does not hold. */
interface GatherDeps {
  connection: Pick<KubernetesConnection, 'path' | 'request'>;
  /** Has the index `owner`, by the uid of the owner. */
  scanClient: Pick<ScanClient, 'get' | 'byIndex'>;
  states: ScheduleStates;
  owners: Pick<NamespaceOwners, 'of'>;
  apiNamespace: string;
  parse: ParseSchedule;
  now: () => Date;
}

type ParseSchedule = (spec: Pick<ScanScheduleSpec, 'schedule' | 'timeZone'>) => ParsedSchedule;

type GatherSchedule = (schedule: ScanSchedule, signal: AbortSignal) => Promise<ScheduleFacts>;

function createGather(deps: GatherDeps): GatherSchedule {
  const { connection, scanClient, states, owners, apiNamespace } = deps;

  /** Forgets the created scans that the cache holds by now, or that are gone. */
  async function forgetSeen(state: ScheduleState, namespace: string, signal: AbortSignal): Promise<void> {
    for (const [name, { scan, at }] of state.created) {
      if (scanClient.get(namespace, name)?.metadata.uid === scan.metadata.uid) state.created.delete(name);
      else if (deps.now().getTime() - at.getTime() >= CREATED_CHECK_MS) {
        const current = await readIfThere<AccessibilityScan>(connection, connection.path(SCANS, namespace, name), { signal });
        if (current?.metadata.uid === scan.metadata.uid) state.created.set(name, { scan: current!, at: deps.now() });
        else state.created.delete(name);
      }
    }
  }

  return async (schedule, signal) => {
    const { metadata, spec } = schedule;
    const namespace = metadata.namespace!;
    const state = states.of(metadata.uid!);
    const owner = await ownerOfSchedule(owners, metadata, apiNamespace);
    await forgetSeen(state, namespace, signal);
    const cached = scanClient.byIndex('owner', metadata.uid!).filter((scan) => scan.metadata.namespace === namespace);
    const children = [...cached, ...[...state.created.values()].map(({ scan }) => scan)];
    state.recorded ??= recordedBefore(schedule, children, apiNamespace);
    return {
      schedule,
      parsed: deps.parse(spec),
      jitterMs: jitterOf(namespace, metadata.name, spec.jitterSeconds ?? 0),
      children,
      apiNamespace,
      owner,
      state,
      now: deps.now(),
    };
  };
}

/** The number of parsed schedules that are kept, so that a plan does not parse the same expression again. */
const PARSED_MAX = 5_000;

/** Creates a `parseSchedule` that remembers its last results. */
function createScheduleParser(): ParseSchedule {
  const parsed = new BoundedMap<ParsedSchedule>({ max: PARSED_MAX });
  return ({ schedule, timeZone }) => {
    const key = `${timeZone ?? ''} ${schedule}`;
    const known = parsed.get(key) ?? parseSchedule(schedule, timeZone);
    parsed.set(key, known);
    return known;
  };
}
