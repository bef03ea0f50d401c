/** Executes the actions of a schedule's plan in order. Each action is idempotent, because the operator may crash at any point. */
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import type { ScanSchedule } from '../../core/protocol/scan-schedules.ts';
import type { Logger } from '../../platform/logger.ts';
import { hasCode, KubernetesError, readIfThere, type KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import type { OperatorMetrics } from '../metrics.ts';
import { keyOf } from '../runtime/key.ts';
import type { Recorder } from '../runtime/events/recorder.ts';
import { ObjectGone, type ResourceClient } from '../runtime/resource-client.ts';
import { isOwnedBy, SCANS } from '../scan/kube-types.ts';
import type { ScanClient } from '../scan/scan-client.ts';
import type { WebhookEvents } from '../../stores/webhooks/events.ts';
import { withRecorded } from './policy/history.ts';
import { numbersOf, REGRESSED } from './policy/regression.ts';
import type { Refusal, ScheduleAction, ScheduleFacts, ScheduleState } from './policy/facts.ts';

export interface ScheduleActionDeps {
  connection: Pick<KubernetesConnection, 'path' | 'request'>;
  schedules: Pick<ResourceClient<ScanSchedule>, 'patchStatus'>;
  scanClient: Pick<ScanClient, 'create' | 'patchSpec' | 'remove'>;
  webhookEvents: Pick<WebhookEvents, 'add'>;
  recorder: Recorder;
  metrics: Pick<OperatorMetrics, 'schedules'>;
  /** Starts the comparison that the state names. */
  compare: (schedule: ScanSchedule) => void;
  logger: Logger;
  now: () => Date;
}

/** Changes the state of the facts. It is not read again by uid, because it is forgotten when the schedule's deletion arrives. */
export type RunScheduleAction = (action: ScheduleAction, facts: ScheduleFacts, signal: AbortSignal) => Promise<void>;

export function createScheduleActions(deps: ScheduleActionDeps): RunScheduleAction {
  return async (action, facts, signal) => {
    const { schedule, state } = facts;
    switch (action.do) {
      case 'start':
        await confirm(deps, schedule, state, signal);
        return start(deps, action, schedule, state, signal);
      case 'cancel':
        await confirm(deps, schedule, state, signal);
        return cancel(deps, action.scan, schedule, signal);
      case 'compare':
        state.comparison = { completed: action.completed, previous: action.previous, outcome: null, at: null };
        return deps.compare(schedule);
      case 'remove':
        await deps.scanClient.remove(action.scan, signal);
        // The cache may not hold it yet, and then the deletion is not recorded.
        return void state.created.delete(action.scan.metadata.name);
      case 'writeStatus':
        // First: after a crash in between, the plan repeats both, and the event is stored once.
        await announceRegression(deps, action, facts);
        await deps.schedules.patchStatus(schedule, action.status, signal);
        state.confirmed = true;
        if (action.completed !== null) state.recorded = withRecorded(state.recorded, schedule.status?.lastCompleted, action.completed);
        for (const { type, reason, message, skipped, failed } of action.notes) {
          deps.recorder.event(schedule, type, reason, message);
          if (skipped !== undefined) deps.metrics.schedules.skipped(skipped.reason, skipped.count);
          if (failed !== undefined) deps.metrics.schedules.failed(failed.repeated);
        }
    }
  };
}

/** Stores the event of a regression for the webhooks of the schedule's organisation. */
async function announceRegression(
  { webhookEvents, now }: ScheduleActionDeps,
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
    passed: completed.passed ?? null,
    comparison: compared?.ok ? numbersOf(compared) : null,
  };
  await webhookEvents.add({ scan: completed.scanId, organisation: owner.organisation, at: now(), data });
}

/**
 * A former leader may have recorded a run in a status that the cache does not hold yet, and the history limit may have removed
 * the scan of that run. An empty patch changes nothing, and the API server rejects it if the schedule has changed since.
 */
async function confirm(
  { schedules }: ScheduleActionDeps,
  schedule: ScanSchedule,
  state: ScheduleState,
  signal: AbortSignal,
): Promise<void> {
  if (state.confirmed) return;
  await schedules.patchStatus(schedule, {}, signal);
  state.confirmed = true;
}

async function start(
  deps: ScheduleActionDeps,
  { run, scan, dueAt }: Extract<ScheduleAction, { do: 'start' }>,
  schedule: ScanSchedule,
  state: ScheduleState,
  signal: AbortSignal,
): Promise<void> {
  const { recorder, metrics, logger } = deps;
  const { name } = scan.metadata;
  const created = await create(deps, scan, schedule, signal);
  if (!created.ok) {
    const repeated = state.refusal?.reason === created.reason && state.refusal.message === created.message;
    state.refusal = { name, reason: created.reason, message: created.message, at: deps.now() };
    if (!repeated) metrics.schedules.refused(created.reason);
    logger.warn({ key: keyOf(schedule), scan: name, reason: created.message }, 'cannot start scheduled scan');
    return;
  }
  state.refusal = null;
  state.created.set(name, { scan: created.scan, at: deps.now() });
  if (created.repeated) return;
  const delayMs = Math.max(0, deps.now().getTime() - dueAt.getTime());
  metrics.schedules.started(run.trigger, delayMs / 1000);
  recorder.event(schedule, 'Normal', 'SuccessfulCreate', `Created scan ${name}.`);
  logger.info({ key: keyOf(schedule), scan: name, trigger: run.trigger, delayMs }, 'started scheduled scan');
}

type Created = { ok: true; scan: AccessibilityScan; repeated: boolean } | ({ ok: false } & Pick<Refusal, 'reason' | 'message'>);

/** The API server creates a name once, so two leaders or a crash never start a run twice. */
async function create(deps: ScheduleActionDeps, scan: AccessibilityScan, schedule: ScanSchedule, signal: AbortSignal): Promise<Created> {
  try {
    return { ok: true, scan: await deps.scanClient.create(scan, signal), repeated: false };
  } catch (error) {
    if (!(error instanceof KubernetesError) || isTransient(error)) throw error;
    if (error.code !== 409) {
      const message = `The API server does not create ${scan.metadata.name}: ${error.message.slice(0, 1000)}`;
      return { ok: false, reason: 'CreateRefused', message };
    }
    const path = deps.connection.path(SCANS, scan.metadata.namespace, scan.metadata.name);
    const existing = await readIfThere<AccessibilityScan>(deps.connection, path, { signal });
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

async function cancel(deps: ScheduleActionDeps, scan: AccessibilityScan, schedule: ScanSchedule, signal: AbortSignal): Promise<void> {
  try {
    await deps.scanClient.patchSpec(scan, { cancel: true }, signal);
  } catch (error) {
    // It is gone, or another scan has its name.
    if (error instanceof ObjectGone || hasCode(error, 409, 422)) return;
    throw error;
  }
  deps.recorder.event(
    schedule,
    'Normal',
    'Replaced',
    `Canceled scan ${scan.metadata.name}: the next one is due and concurrencyPolicy is Replace.`,
  );
}
