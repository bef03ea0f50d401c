/** Which run of a schedule is started now, which ones were skipped, and when the next one is due. CronJob's rules. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { createHash } from 'node:crypto';
import type { AccessibilityScan } from '../../../core/protocol/custom-resources.ts';
import type { ObservedSchedule, ScanSchedule } from '../../../core/protocol/scan-schedules.ts';
import { timestamp } from '../../../platform/clock.ts';
import { requestedRun } from '../../../core/schedule/requested-run.ts';
import type { CronTimes, ParsedSchedule } from '../../../core/schedule/times.ts';
import { byCreation, childName, childOf, isActive, scheduledTimeOf } from './child.ts';
import { type Readiness, readinessOf } from './conditions.ts';
import type { Note, Run, ScheduleAction, ScheduleFacts } from './facts.ts';
/** The time between two attempts to create a scan that the API server refused, in milliseconds. */
export const REFUSED_RETRY_MS = 30_000;

/** What the status records of the runs, and what is left to do. */
export interface Starts {
  readiness: Readiness;
  active: AccessibilityScan[];
  /** Creates the scan of one run, after canceling those that it replaces; empty if no run is started now. */
  actions: ScheduleAction[];
  lastScheduleTime?: Date;
  lastMissedTime?: Date;
  nextScheduleTime?: Date;
  observedSchedule: ObservedSchedule;
  lastRunRequest?: string;
  /** Whether a requested run waits for a scan that still runs. */
  requestWaits: boolean;
  notes: Note[];
  /** The delays after which something is due, in milliseconds. */
  wakes: number[];
}

const dateOf = (time: string | undefined): Date | undefined => (time === undefined ? undefined : new Date(time));
const later = (a: Date, b: Date | undefined): Date => (b === undefined || a >= b ? a : b);
const times = (count: number): string => (count === 1 ? '1 scheduled time was' : `${count} scheduled times were`);

export function decideStarts(facts: ScheduleFacts): Starts {
  const { schedule, children, now } = facts;
  const starts: Starts = {
    readiness: readinessOf(facts),
    active: children.filter(isActive).toSorted(byCreation),
    actions: [],
    lastScheduleTime: dateOf(schedule.status?.lastScheduleTime),
    lastMissedTime: dateOf(schedule.status?.lastMissedTime),
    observedSchedule: observe(schedule, now),
    lastRunRequest: schedule.status?.lastRunRequest,
    requestWaits: false,
    notes: [],
    wakes: [],
  };
  decideRequest(facts, starts);
  if (starts.readiness.mayFire && facts.parsed.ok) decideDue(facts, facts.parsed.times, starts);
  else recordStarted(facts, starts);
  return starts;
}

/** Only times after a change of the schedule are due, so that the change does not start a scan for a time that has passed. */
function observe({ metadata, spec, status }: ScanSchedule, now: Date): ObservedSchedule {
  const { schedule, timeZone } = spec;
  const current = { schedule, ...(timeZone !== undefined && { timeZone }) };
  const { since, ...before } = status?.observedSchedule ?? { ...current, since: metadata.creationTimestamp! };
  return { ...current, since: isDeepStrictEqual(before, current) ? since : timestamp(now) };
}

function decideRequest(facts: ScheduleFacts, starts: Starts): void {
  const token = requestedRun(facts.schedule);
  if (token === null || token === starts.lastRunRequest) return;
  const run: Run = { trigger: 'request', token };
  if (exists(facts, run)) starts.lastRunRequest = token;
  else if (!starts.readiness.mayRun) return;
  else if (isForbidden(facts, starts)) starts.requestWaits = true;
  else start(facts, starts, run, facts.now);
}

function decideDue(facts: ScheduleFacts, cron: CronTimes, starts: Starts): void {
  const { schedule, now, jitterMs } = facts;
  const after = later(new Date(starts.observedSchedule.since), starts.lastScheduleTime);
  const since = (from: Date): DueRunResult =>
    dueRun(cron, { after: from, now, jitterMs, startingDeadlineSeconds: schedule.spec.startingDeadlineSeconds });
  const { due, nextAt, nextScheduledAt } = since(after);
  if (nextScheduledAt !== null) starts.nextScheduleTime = nextScheduledAt;
  if (nextAt !== null) starts.wakes.push(nextAt.getTime() - now.getTime());
  // Those that no Event has reported yet.
  const unreported = since(later(after, starts.lastMissedTime));
  if (due === null) return reportMissed(unreported, starts, 'too_late', schedule);

  const run: Run = { trigger: 'time', scheduledAt: due };
  if (exists(facts, run)) {
    starts.lastScheduleTime = due;
    reportMissed(unreported, starts, 'superseded', schedule);
  } else if (isForbidden(facts, starts)) {
    if (unreported.due === null) return;
    reportMissed(unreported, starts, 'superseded', schedule);
    starts.lastMissedTime = due;
    starts.notes.push(stillRunning(starts, due));
  } else start(facts, starts, run, new Date(due.getTime() + jitterMs));
}

/** Records the runs that were started just before the schedule was held. Their scans may be gone when it continues. */
function recordStarted({ schedule, children }: ScheduleFacts, starts: Starts): void {
  for (const scan of children) {
    const scheduledAt = scheduledTimeOf(schedule, scan);
    if (scheduledAt !== null) starts.lastScheduleTime = later(scheduledAt, starts.lastScheduleTime);
  }
}

const exists = ({ schedule, children }: ScheduleFacts, run: Run): boolean =>
  children.some(({ metadata }) => metadata.name === childName(schedule, run));

const isForbidden = ({ schedule }: ScheduleFacts, { active }: Starts): boolean =>
  schedule.spec.concurrencyPolicy === 'Forbid' && active.length > 0;

/** Starts one run per plan: the next plan sees its scan. */
function start({ schedule, state, now }: ScheduleFacts, starts: Starts, run: Run, dueAt: Date): void {
  if (starts.actions.length > 0) return;
  const scan = childOf(schedule, run);
  if (state.refusal?.name === scan.metadata.name) {
    const left = state.refusal.at.getTime() + REFUSED_RETRY_MS - now.getTime();
    if (left > 0) return void starts.wakes.push(left);
  }
  const replaced = schedule.spec.concurrencyPolicy === 'Replace' ? starts.active.filter(isUncanceled) : [];
  starts.actions = [...replaced.map((old) => ({ do: 'cancel', scan: old }) as const), { do: 'start', run, scan, dueAt }];
}

const isUncanceled = ({ spec, metadata }: AccessibilityScan): boolean => spec.cancel !== true && metadata.deletionTimestamp === undefined;

function reportMissed(
  { missed, lastMissedAt }: DueRunResult,
  starts: Starts,
  reason: 'superseded' | 'too_late',
  { spec }: ScanSchedule,
): void {
  if (missed === 0 || lastMissedAt === null) return;
  starts.lastMissedTime = lastMissedAt;
  const late = `: no scan could be started within the startingDeadlineSeconds of ${spec.startingDeadlineSeconds} s.`;
  const why = reason === 'superseded' ? '. Only the latest one is caught up.' : late;
  const message = `${times(missed)} missed, the last one ${timestamp(lastMissedAt)}${why}`;
  starts.notes.push({ type: 'Warning', reason: 'MissSchedule', message, skipped: { reason, count: missed } });
}

function stillRunning({ active }: Starts, scheduledAt: Date): Note {
  const others = active.length > 1 ? ` and ${active.length - 1} more` : '';
  return {
    type: 'Normal',
    reason: 'ScanAlreadyActive',
    message: `No scan was started for ${timestamp(scheduledAt)}: ${active[0]!.metadata.name}${others} still runs, and concurrencyPolicy is Forbid.`,
    skipped: { reason: 'still_running', count: 1 },
  };
}

/** The delay of a schedule's runs in milliseconds, in whole seconds, always the same for one namespace and name. */
export function jitterOf(namespace: string, name: string, jitterSeconds: number): number {
  const hash = createHash('sha256').update(`${namespace}/${name}`).digest().readUInt32BE();
  return (hash % (jitterSeconds + 1)) * 1000;
}

interface DueRunArgs {
  /** The last scheduled time, or the creation of the schedule. */
  after: Date;
  now: Date;
  jitterMs: number;
  startingDeadlineSeconds?: number;
}

export interface DueRunResult {
  /** The scheduled time of the run that is due now. At most one, the most recent: a schedule catches up with one run after downtime. */
  due: Date | null;
  /** The exact number of runs that were due and are not made: all but `due`. */
  missed: number;
  /** The scheduled time of the last missed run, or null if none was missed. */
  lastMissedAt: Date | null;
  /** When to look again: `nextScheduledAt` with the jitter. */
  nextAt: Date | null;
  nextScheduledAt: Date | null;
}

/** Bounds the time that a wrong status costs, such as a last scheduled time in the year 1. */
const LONGEST_DOWNTIME_MS = 50 * 365 * 86_400_000;

/** Decides which run is due. A run is made at its scheduled time plus the jitter, and the deadline counts from there. */
export function dueRun(times: CronTimes, { after: last, now, jitterMs, startingDeadlineSeconds }: DueRunArgs): DueRunResult {
  const after = new Date(Math.max(last.getTime(), now.getTime() - LONGEST_DOWNTIME_MS));
  const scheduledUpTo = new Date(now.getTime() - jitterMs);
  const latest = times.previous(scheduledUpTo, after);
  const nextScheduledAt = times.next(latest ?? after);
  const nextAt = nextScheduledAt && new Date(nextScheduledAt.getTime() + jitterMs);
  if (latest === null) return { due: null, missed: 0, lastMissedAt: null, nextAt, nextScheduledAt };
  const passed = times.count(after, latest);
  // Whole seconds, because a timer fires some milliseconds late: with a deadline of 0, nothing would ever be due.
  const lateSeconds = Math.floor((scheduledUpTo.getTime() - latest.getTime()) / 1000);
  if (startingDeadlineSeconds !== undefined && lateSeconds > startingDeadlineSeconds)
    return { due: null, missed: passed, lastMissedAt: latest, nextAt, nextScheduledAt };
  const missed = passed - 1;
  const lastMissedAt = missed === 0 ? null : times.previous(new Date(latest.getTime() - 1), after);
  return { due: latest, missed, lastMissedAt, nextAt, nextScheduledAt };
}

/**
 * Returns the number of scheduled times, with jitter, since the last completed scan: whatever the reason, a schedule whose number
 * grows does not test its site. Times before the last change of the expression do not count. 0 while the schedule is suspended, and
 * if its expression is invalid.
 */
export function timesWithoutResult({ metadata, spec, status = {} }: ScanSchedule, parsed: ParsedSchedule, now: Date): number {
  if (spec.suspend === true || !parsed.ok) return 0;
  const jitterMs = jitterOf(metadata.namespace!, metadata.name, spec.jitterSeconds ?? 0);
  const since = Math.max(...[metadata.creationTimestamp, status.observedSchedule?.since].map(millis));
  const completed = millis(status.lastSuccessfulTime) - jitterMs;
  return parsed.times.count(new Date(Math.max(since, completed)), new Date(now.getTime() - jitterMs));
}

const millis = (time: string | undefined): number => (time === undefined ? -Infinity : Date.parse(time));
