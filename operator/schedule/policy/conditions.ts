/** Whether a schedule can start scans, and its conditions, which kstatus reads. Pure. */
import { conditionOf, type ConditionUpdate } from '../../runtime/conditions.ts';
import type { Failures } from './history.ts';
import type { Note, Refusal, ScheduleFacts } from './facts.ts';

export interface Readiness {
  /** Whether scans are started at the scheduled times. */
  mayFire: boolean;
  /** Whether scans are started on demand. */
  mayRun: boolean;
  /** True if nothing changes until somebody acts; false if the operator expects the change. */
  stalled: boolean;
  ready: boolean;
  reason: string;
  message: string;
}

const READY: Readiness = {
  mayFire: true,
  mayRun: true,
  stalled: false,
  ready: true,
  reason: 'Scheduled',
  message: 'Scans are started at the scheduled times.',
};

/** A suspended schedule is ready, because it is in the state that its manifest asks for. */
const SUSPENDED: Readiness = {
  ...READY,
  mayFire: false,
  reason: 'Suspended',
  message: 'The schedule is suspended: no scan is started at the scheduled times.',
};

const held = (reason: string, stalled: boolean, message: string): Readiness => ({
  mayFire: false,
  mayRun: false,
  ready: false,
  stalled,
  reason,
  message,
});

const UNRECORDED =
  'The record that says which organisation is charged for this schedule of the dashboard is lost. No scan is started. Delete this schedule, and create it again in the dashboard.';

const INVALID_REASONS = { invalid_schedule: 'InvalidSchedule', invalid_time_zone: 'InvalidTimeZone' } as const;

export function readinessOf({ schedule, parsed, owner }: ScheduleFacts): Readiness {
  const { namespace } = schedule.metadata;
  if (owner.state === 'owned' && owner.blocked) {
    const message = `The organisation ${owner.organisation} is blocked. No scan is started until it is unblocked.`;
    return held('OrganisationBlocked', true, message);
  }
  if (owner.state === 'none') {
    const message = `No organisation is charged for the namespace ${namespace}. No scan is started until the namespace is added to one.`;
    return held('NoOrganisation', false, message);
  }
  if (owner.state === 'unrecorded') return held('NoOrganisation', true, UNRECORDED);
  if (!parsed.ok) return { ...held(INVALID_REASONS[parsed.reason], true, parsed.message), mayRun: true };
  return schedule.spec.suspend === true ? SUSPENDED : READY;
}

/** Returns the conditions Ready, Stalled and Reconciling. A schedule whose scans keep failing is stalled, although it starts them. */
export function readiness(
  { readiness, requestWaits }: { readiness: Readiness; requestWaits: boolean },
  refusal: Refusal | null,
  failures: Pick<Failures, 'repeated' | 'condition'>,
): ConditionUpdate[] {
  const { ready, stalled, reason, message } =
    readiness.mayRun && readiness.ready && refusal !== null ? { ready: false, stalled: true, ...refusal } : readiness;
  const waits = requestWaits
    ? { reason: 'RunRequested', message: 'A run was requested. It starts when the scan that still runs has ended.' }
    : !ready && !stalled
      ? { reason, message }
      : null;
  return [
    { type: 'Ready', status: ready ? 'True' : 'False', reason, message },
    ready && readiness.mayFire && failures.repeated
      ? { type: 'Stalled', status: 'True', reason: 'ScansFail', message: failures.condition.message }
      : { type: 'Stalled', status: stalled ? 'True' : 'False', reason, message },
    waits === null
      ? { type: 'Reconciling', status: 'False', reason, message: 'Nothing is pending.' }
      : { type: 'Reconciling', status: 'True', ...waits },
  ];
}

/** Returns the Event for a schedule that cannot start scans any more; null if the status states the reason already. */
export function readinessNote({ schedule }: ScheduleFacts, updates: readonly ConditionUpdate[]): Note | null {
  const ready = conditionOf(updates, 'Ready')!;
  const before = conditionOf(schedule.status?.conditions, 'Ready');
  if (ready.status === 'True' || (before?.reason === ready.reason && before.message === ready.message)) return null;
  return { type: 'Warning', reason: ready.reason, message: ready.message };
}
