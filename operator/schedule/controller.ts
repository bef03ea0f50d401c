/** The ScanSchedule controller: its sources, and its gather, plan and execute steps. */
import { type AccessibilityScan, classOf } from '../../core/protocol/custom-resources.ts';
import type { ScanSchedule, ScanScheduleSpec } from '../../core/protocol/scan-schedules.ts';
import { readIfThere } from '../../platform/kubernetes/kubernetes.ts';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import { type ParsedSchedule, parseSchedule } from '../../core/schedule/times.ts';
import type { OperatorContext } from '../context.ts';
import { type CacheEvent, fromKey, keyOf, toKey } from '../runtime/cache.ts';
import { createPlannedReconcile, createStates } from '../runtime/controller.ts';
import { watch } from '../runtime/manager.ts';
import { trackLists } from '../runtime/namespaces.ts';
import { controllerUids, SCANS, SCHEDULES } from '../scan/kube-types.ts';
import { hasEnded } from '../scan/policy/status.ts';
import { addComparisonController, execute, type ScheduleContext } from './actions.ts';
import { addScheduleMirror } from './mirror.ts';
import { createNamespaceOwners, enqueueChanged, ownedKeyOf, ownerOfSchedule } from './owners.ts';
import { newScheduleState, type ScheduleAction, type ScheduleFacts, type ScheduleState, type ScheduleStates } from './policy/facts.ts';
import { recordedBefore } from './policy/history.ts';
import { CREATED_CHECK_MS, planSchedule } from './policy/plan.ts';
import { jitterOf, timesWithoutResult } from './policy/starts.ts';
import { createTurns, laneOf, TURNS_OF_START } from './turns.ts';

/** The interval at which schedules notice that their organisation was blocked or unblocked, in milliseconds. */
const OWNERS_EVERY_MS = 5_000;
/** The longest back-off of a schedule, in milliseconds: an outage must not delay its scans for long after it has ended. */
const MAX_BACK_OFF_MS = 5_000;

const FIRST: ReadonlySet<ScheduleAction['do']> = new Set(['start', 'cancel']);

export function addScheduleController(context: OperatorContext): void {
  const { manager, scanClient, stores, settings, clock } = context;
  const { watchNamespaces, operatorClass, namespace: apiNamespace } = settings;
  const states = createStates(newScheduleState);
  const owners = createNamespaceOwners(stores.organisations, stores.dashboardSchedules, clock.monotonic);
  const takeTurns = createTurns(clock.monotonic);
  const { onListed, isListed, isFailing } = trackLists(watchNamespaces);
  const schedules = manager.watchResource<ScanSchedule>({
    resource: SCHEDULES,
    namespaces: watchNamespaces,
    // The class cannot be changed.
    accepts: ({ spec }) => classOf(spec.scanTemplate) === operatorClass,
    // Scans run where schedules cannot be read, as after an upgrade without the custom resource definition.
    optional: true,
    onListed,
  });
  const own: ScheduleContext = { ...context, schedules, states, owners, isListed };
  const parse = createScheduleParser();
  context.metrics.scheduleSeries.read({
    list: schedules.list,
    unreadable: isFailing,
    timesWithoutResult: (schedule) => timesWithoutResult(schedule, parse(schedule.spec), clock.now()),
  });
  schedules.onChange(({ type, object }) => type === 'deleted' && states.forget(object.metadata.uid!));
  scanClient.onChange(({ type, object }) => type === 'deleted' && forgetChild(states, object));

  const enqueueComparison = addComparisonController(own, (key) => enqueue(key));
  const enqueueMirror = addScheduleMirror(own);
  const enqueue = manager.add({
    name: 'schedule',
    queueName: 'schedules',
    workers: settings.scanWorkers,
    maxBackOffMs: MAX_BACK_OFF_MS,
    shareOf: (key) => ownedKeyOf(fromKey(key), apiNamespace),
    sources: [watch(schedules, ({ object }) => [keyOf(object)]), watch(scanClient, schedulesOf)],
    reconcile: createPlannedReconcile<ScheduleFacts, ScheduleAction>({
      async gather(key, signal) {
        const { namespace, name } = fromKey(key);
        const schedule = schedules.get(namespace, name);
        return schedule === undefined ? null : gather(own, schedule, parse(schedule.spec), signal);
      },
      plan: planSchedule,
      async execute({ actions }, facts, signal) {
        const { state } = facts;
        state.turnAt ??= takeTurns(laneOf(facts), actions.some((action) => action.do === 'start') ? TURNS_OF_START : 1);
        const earlyMs = state.turnAt - clock.monotonic();
        if (earlyMs > 0) return { requeueAfterMs: earlyMs };
        state.turnAt = null;
        for (const action of actions) {
          signal.throwIfAborted();
          await execute(own, action, facts, signal);
          if (action.do === 'compare') enqueueComparison(keyOf(facts.schedule));
        }
        // When many schedules are due, each of them starts its scan before the first one writes its status.
        return actions.some((action) => FIRST.has(action.do)) ? { requeueAfterMs: 0 } : 'again';
      },
    }),
  });
  manager.addTask({
    name: 'organisations of schedules',
    everyMs: OWNERS_EVERY_MS,
    run: () =>
      enqueueChanged(
        owners,
        schedules.list(),
        (metadata) => ownedKeyOf(metadata, apiNamespace),
        (key) => {
          enqueue(key);
          enqueueMirror(key);
        },
      ),
  });
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

/** Gathers the facts about a schedule from the caches, and asks the API server about a created scan that the cache does not hold. */
async function gather(
  context: ScheduleContext,
  schedule: ScanSchedule,
  parsed: ParsedSchedule,
  signal: AbortSignal,
): Promise<ScheduleFacts> {
  const { scanClient, states, owners, settings, clock } = context;
  const { metadata, spec } = schedule;
  const namespace = metadata.namespace!;
  const state = states.of(metadata.uid!);
  const owner = await ownerOfSchedule(owners, metadata, settings.namespace);
  await forgetSeen(context, state, namespace, signal);
  const cached = scanClient.byIndex('owner', metadata.uid!).filter((scan) => scan.metadata.namespace === namespace);
  const children = [...cached, ...[...state.created.values()].map(({ scan }) => scan)];
  state.recorded ??= recordedBefore(schedule, children, settings.namespace);
  const jitterMs = jitterOf(namespace, metadata.name, spec.jitterSeconds ?? 0);
  return { schedule, parsed, jitterMs, children, apiNamespace: settings.namespace, owner, state, now: clock.now() };
}

/** Forgets the created scans that the cache holds by now, or that are gone. */
async function forgetSeen(
  { connection, scanClient, clock }: OperatorContext,
  { created }: ScheduleState,
  namespace: string,
  signal: AbortSignal,
): Promise<void> {
  for (const [name, { scan, at }] of created) {
    if (scanClient.get(namespace, name)?.metadata.uid === scan.metadata.uid) created.delete(name);
    else if (clock.now().getTime() - at.getTime() >= CREATED_CHECK_MS) {
      const current = await readIfThere<AccessibilityScan>(connection, connection.path(SCANS, namespace, name), { signal });
      if (current?.metadata.uid === scan.metadata.uid) created.set(name, { scan: current!, at: clock.now() });
      else created.delete(name);
    }
  }
}

/** The number of parsed schedules that are kept, so that a plan does not parse the same expression again. */
const PARSED_MAX = 5_000;

function createScheduleParser(): (spec: ScanScheduleSpec) => ParsedSchedule {
  const parsed = new BoundedMap<ParsedSchedule>({ max: PARSED_MAX });
  return ({ schedule, timeZone }) => {
    const key = `${timeZone ?? ''} ${schedule}`;
    const known = parsed.get(key) ?? parseSchedule(schedule, timeZone);
    parsed.set(key, known);
    return known;
  };
}
