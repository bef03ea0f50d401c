/** Executes the actions of a schedule's plan in order. Each action is idempotent, because the operator may crash at any point. */
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import type { ScanSchedule } from '../../core/protocol/scan-schedules.ts';
import { hasCode, KubernetesError, readIfThere } from '../../platform/kubernetes/kubernetes.ts';
import type { StoredComparison } from '../../report/workers/compare.ts';
import { rowsOf, type ScanRow } from '../../stores/scans/scans.ts';
import type { OperatorContext } from '../context.ts';
import { fromKey, keyOf } from '../runtime/cache.ts';
import { conditionOf } from '../runtime/conditions.ts';
import { ObjectGone, type ResourceClient } from '../runtime/resource-client.ts';
import { isOwnedBy, SCANS } from '../scan/kube-types.ts';
import { type NamespaceOwners, ownedKeyOf } from './owners.ts';
import type { ComparisonOutcome, ComparisonState, Refusal, ScheduleAction, ScheduleFacts, ScheduleStates } from './policy/facts.ts';
import { withRecorded } from './policy/history.ts';
import { numbersOf, REGRESSED } from './policy/regression.ts';

export interface ScheduleContext extends OperatorContext {
  schedules: ResourceClient<ScanSchedule>;
  /** Whether a schedule of this namespace that the cache does not hold does not exist. */
  isListed: (namespace: string) => boolean;
  states: ScheduleStates;
  owners: NamespaceOwners;
}

/** Changes the state of the facts. It is not read again by uid, because it is forgotten when the schedule's deletion arrives. */
export async function execute(context: ScheduleContext, action: ScheduleAction, facts: ScheduleFacts, signal: AbortSignal): Promise<void> {
  const { schedule, state } = facts;
  const { schedules, scanClient, recorder, metrics } = context;
  switch (action.do) {
    case 'start':
      await confirm(context, facts, signal);
      return start(context, action, facts, signal);
    case 'cancel':
      await confirm(context, facts, signal);
      return cancel(context, action.scan, schedule, signal);
    case 'compare':
      state.comparison = { completed: action.completed, previous: action.previous, outcome: null, at: null };
      return;
    case 'remove':
      await scanClient.remove(action.scan, signal);
      // The cache may not hold it yet, and then the deletion is not recorded.
      return void state.created.delete(action.scan.metadata.name);
    case 'writeStatus':
      // First: after a crash in between, the plan repeats both, and the event is stored once.
      await announceRegression(context, action, facts);
      await schedules.patchStatus(schedule, action.status, signal);
      state.confirmed = true;
      if (action.completed !== null) state.recorded = withRecorded(state.recorded, schedule.status?.lastCompleted, action.completed);
      for (const { type, reason, message, skipped, failed } of action.notes) {
        recorder.event(schedule, type, reason, message);
        if (skipped !== undefined) metrics.schedules.skipped(skipped.reason, skipped.count);
        if (failed !== undefined) metrics.schedules.failed(failed.repeated);
      }
  }
}

async function announceRegression(
  { stores, clock }: ScheduleContext,
  { notes, completed }: Extract<ScheduleAction, { do: 'writeStatus' }>,
  { schedule, state, owner }: ScheduleFacts,
): Promise<void> {
  const regressed = notes.some(({ reason }) => reason === REGRESSED);
  const previous = schedule.status?.lastCompleted;
  if (!regressed || completed === null || previous === undefined || owner.state !== 'owned') return;
  const { metadata, spec } = schedule;
  const compared = state.comparison?.completed.scanId === completed.scanId ? state.comparison.outcome : null;
  const data = {
    namespace: metadata.namespace!,
    name: metadata.name,
    url: spec.scanTemplate.spec.url,
    scanId: completed.scanId,
    previousScanId: previous.scanId,
    began: conditionOf(schedule.status?.conditions, 'Regressed')?.status !== 'True',
    passed: completed.passed ?? null,
    comparison: compared?.ok ? numbersOf(compared) : null,
  };
  await stores.webhookEvents.add({ scan: completed.scanId, organisation: owner.organisation, at: clock.now(), data });
}

/**
 * A former leader may have recorded a run in a status that the cache does not hold yet, and the history limit may have removed
 * the scan of that run. An empty patch changes nothing, and the API server rejects it if the schedule has changed since.
 */
async function confirm({ schedules }: ScheduleContext, { schedule, state }: ScheduleFacts, signal: AbortSignal): Promise<void> {
  if (state.confirmed) return;
  await schedules.patchStatus(schedule, {}, signal);
  state.confirmed = true;
}

async function start(
  context: ScheduleContext,
  { run, scan, dueAt }: Extract<ScheduleAction, { do: 'start' }>,
  { schedule, state }: ScheduleFacts,
  signal: AbortSignal,
): Promise<void> {
  const { recorder, metrics, logger, clock } = context;
  const { name } = scan.metadata;
  const created = await create(context, scan, schedule, signal);
  if (!created.ok) {
    const repeated = state.refusal?.reason === created.reason && state.refusal.message === created.message;
    state.refusal = { name, reason: created.reason, message: created.message, at: clock.now() };
    if (!repeated) metrics.schedules.refused(created.reason);
    logger.warn({ key: keyOf(schedule), scan: name, reason: created.message }, 'cannot start scheduled scan');
    return;
  }
  state.refusal = null;
  state.created.set(name, { scan: created.scan, at: clock.now() });
  if (created.repeated) return;
  const delayMs = Math.max(0, clock.now().getTime() - dueAt.getTime());
  metrics.schedules.started(run.trigger, delayMs / 1000);
  recorder.event(schedule, 'Normal', 'SuccessfulCreate', `Created scan ${name}.`);
  logger.info({ key: keyOf(schedule), scan: name, trigger: run.trigger, delayMs }, 'started scheduled scan');
}

type Created = { ok: true; scan: AccessibilityScan; repeated: boolean } | ({ ok: false } & Pick<Refusal, 'reason' | 'message'>);

/** The API server creates a name once, so two leaders or a crash never start a run twice. */
async function create(context: ScheduleContext, scan: AccessibilityScan, schedule: ScanSchedule, signal: AbortSignal): Promise<Created> {
  try {
    return { ok: true, scan: await context.scanClient.create(scan, signal), repeated: false };
  } catch (error) {
    if (!(error instanceof KubernetesError) || isTransient(error)) throw error;
    if (error.code !== 409) {
      const message = `The API server does not create ${scan.metadata.name}: ${error.message.slice(0, 1000)}`;
      return { ok: false, reason: 'CreateRefused', message };
    }
    const path = context.connection.path(SCANS, scan.metadata.namespace, scan.metadata.name);
    const existing = await readIfThere<AccessibilityScan>(context.connection, path, { signal });
    // Deleted in between. The next plan creates it again.
    if (existing === null) throw error;
    if (isOwnedBy(existing, schedule.metadata.uid!)) return { ok: true, scan: existing, repeated: true };
    const message = `Another AccessibilityScan has the name ${scan.metadata.name}. Delete or rename it.`;
    return { ok: false, reason: 'NameTaken', message };
  }
}

/** Whether a retry may succeed without a change of the schedule or of its namespace. */
function isTransient({ code }: KubernetesError): boolean {
  return code >= 500 || code === 429 || code === 408 || code === 401;
}

async function cancel(context: ScheduleContext, scan: AccessibilityScan, schedule: ScanSchedule, signal: AbortSignal): Promise<void> {
  try {
    await context.scanClient.patchSpec(scan, { cancel: true }, signal);
  } catch (error) {
    // It is gone, or another scan has its name.
    if (error instanceof ObjectGone || hasCode(error, 409, 422)) return;
    throw error;
  }
  const message = `Canceled scan ${scan.metadata.name}: the next one is due and concurrencyPolicy is Replace.`;
  context.recorder.event(schedule, 'Normal', 'Replaced', message);
}

/** Why two scans could not be compared, for users. Only an outage ends by itself. */
const REFUSALS: Readonly<Record<Extract<StoredComparison, { ok: false }>['reason'], { message: string; retry: boolean }>> = {
  not_found: { message: 'a report is not stored any more', retry: false },
  not_comparable: { message: 'a report is too large, or was made by another version', retry: false },
  unavailable: { message: 'the object store is unavailable', retry: true },
};

/**
 * Why a run must not be compared with the one before it, which only the schedule's status names; null if it may. The namespace may have been
 * handed to another organisation since, the address may have changed, and whoever may write the status can name any scan.
 */
export function mismatchOf(before: ScanRow | undefined, after: ScanRow | undefined): Extract<ComparisonOutcome, { ok: false }> | null {
  if (before === undefined || after === undefined) return { ok: false, ...REFUSALS.not_found };
  if (before.organisation === after.organisation && before.site === after.site) return null;
  return { ok: false, message: 'the scan before it is of another organisation or site', retry: false, foreign: true };
}

/** More would need more memory. */
const WORKERS = 1;
const TIMEOUT_MS = 60_000;

/**
 * Compares completed scans with the ones before them. It has a queue and workers of its own, because results are read from the
 * object store: no comparison delays the start of a scan. The outcome is put into the schedule's state, and the schedule is
 * enqueued again. The schedule's plan decides about retries.
 * @returns a function that enqueues a schedule whose state names a comparison
 */
export function addComparisonController(context: ScheduleContext, enqueueSchedule: (key: string) => void): (key: string) => void {
  const { manager, schedules, states, comparer, stores, settings, clock } = context;
  async function outcomeOf({ previous, completed }: ComparisonState, signal: AbortSignal): Promise<ComparisonOutcome> {
    try {
      const time = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
      const rows = await rowsOf(stores.scans, [previous.scanId, completed.scanId]);
      const mismatch = mismatchOf(rows.get(previous.scanId), rows.get(completed.scanId));
      if (mismatch !== null) return mismatch;
      const compared = await comparer.compareStored(previous.scanId, completed.scanId, time);
      return compared.ok ? compared : { ok: false, ...REFUSALS[compared.reason] };
    } catch (error) {
      signal.throwIfAborted();
      return { ok: false, message: error instanceof Error ? error.message : String(error), retry: true };
    }
  }

  return manager.add({
    name: 'comparison',
    workers: WORKERS,
    shareOf: (key) => ownedKeyOf(fromKey(key), settings.namespace),
    // Only the schedule controller enqueues.
    sources: [],
    async reconcile(key, signal) {
      const { namespace, name } = fromKey(key);
      const schedule = schedules.get(namespace, name);
      if (schedule === undefined) return;
      const state = states.of(schedule.metadata.uid!);
      const { comparison } = state;
      if (comparison === null || comparison.outcome !== null) return;
      const outcome = await outcomeOf(comparison, signal);
      // Another comparison may have replaced it.
      if (state.comparison === comparison) state.comparison = { ...comparison, outcome, at: clock.now() };
      enqueueSchedule(key);
    },
  });
}
