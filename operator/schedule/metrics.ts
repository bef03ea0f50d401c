/** The metrics of schedules. Labels are bounded: triggers and reasons, never names. */
import type { MetricFactory } from '../../stores/process-metrics.ts';
import type { ScanSchedule } from '../../core/protocol/scan-schedules.ts';
import { conditionOf } from '../runtime/conditions.ts';
import { type Refusal, SKIP_REASONS, type SkipReason, type Trigger } from './policy/facts.ts';
const TRIGGERS: readonly Trigger[] = ['time', 'request'];
const REFUSALS: readonly Refusal['reason'][] = ['NameTaken', 'CreateRefused'];

export function createScheduleMetrics({ counter, histogram }: MetricFactory) {
  const started = counter(
    'schedule_runs_started_total',
    'Number of scans that schedules started, by trigger: `time`, or `request` for runs on demand.',
    { trigger: TRIGGERS },
  );
  const delay = histogram(
    'schedule_start_delay_seconds',
    'Time from the scheduled time of a scan, with jitter, or from its request, to its creation.',
    [0.1, 0.25, 0.5, 1, 2, 5, 10, 60, 300, 3600],
    { trigger: TRIGGERS },
  );
  const skipped = counter(
    'schedule_runs_skipped_total',
    'Number of scheduled times at which no scan was started: another one still ran (`still_running`), the deadline passed ' +
      '(`too_late`), or only a later time was caught up (`superseded`).',
    { reason: SKIP_REASONS },
  );
  const refused = counter(
    'schedule_runs_refused_total',
    'Number of scans of schedules that the Kubernetes API did not create, by reason.',
    { reason: REFUSALS },
  );
  const failed = counter(
    'schedule_runs_failed_total',
    'Number of scans of schedules that failed. `repeated` is `true` from the third one in a row, when the schedule is stalled.',
    { repeated: ['true', 'false'] },
  );
  return {
    /** A scan was created `delaySeconds` after it was due, jitter included. */
    started(trigger: Trigger, delaySeconds: number): void {
      started.inc({ trigger });
      delay.observe({ trigger }, delaySeconds);
    },
    skipped: (reason: SkipReason, count: number): void => skipped.inc({ reason }, count),
    refused: (reason: Refusal['reason']): void => refused.inc({ reason }),
    failed: (repeated: boolean): void => failed.inc({ repeated: String(repeated) }),
  };
}

/** With more schedules than this in the installation, none has series. */
export const SCHEDULE_SERIES_MAX = 1_000;

export interface ScheduleSource {
  list(): readonly ScanSchedule[];
  /** Whether the schedules of a watched namespace cannot be listed. */
  unreadable(): boolean;
  timesWithoutResult(schedule: ScanSchedule): number;
}

/** `namespace` is the label that Prometheus gives to the pod that it scrapes. */
const LABELS = { schedule_namespace: [], schedule: [] };
const MISSING = ['too_many', 'unreadable'] as const;
const NOTHING: ScheduleSource = { list: () => [], unreadable: () => false, timesWithoutResult: () => 0 };

interface Series {
  help: string;
  /** Undefined: no series. */
  value(schedule: ScanSchedule, source: ScheduleSource): number | undefined;
}

const SERIES: Readonly<Record<string, Series>> = {
  schedule_score: {
    help: "Score of the schedule's last completed scan, 0 to 100.",
    value: ({ status }) => numberOf(status?.lastCompleted?.score),
  },
  schedule_violations: {
    help: "Number of violations of the schedule's last completed scan.",
    value: ({ status }) => status?.lastCompleted?.violations,
  },
  schedule_new_violations: {
    help: "Number of violations that the schedule's last completed scan has and the one before it has not. Absent if the two were not compared.",
    value: ({ status }) => status?.comparison?.new,
  },
  schedule_passed: {
    help: "1 if the schedule's last completed scan met its thresholds, else 0. Absent without thresholds.",
    value: ({ status }) => bit(status?.lastCompleted?.passed),
  },
  schedule_regressed: {
    help: '1 if the condition `Regressed` of the schedule is True, 0 if it is False. Absent while it is Unknown.',
    value: (schedule) => conditionBit(schedule, 'Regressed'),
  },
  schedule_ready: {
    help: '1 if the condition `Ready` of the schedule is True, 0 if it is False: no scan can be started.',
    value: (schedule) => conditionBit(schedule, 'Ready'),
  },
  schedule_consecutive_failures: {
    help: 'Number of scans of the schedule that failed since the last one that completed.',
    value: ({ status }) => status?.consecutiveFailures ?? 0,
  },
  schedule_times_without_result: {
    help: 'Number of scheduled times since the last completed scan of the schedule, or since its creation; 0 while it is suspended.',
    value: (schedule, source) => source.timesWithoutResult(schedule),
  },
  schedule_last_success_timestamp_seconds: {
    help: 'Unix time at which the last completed scan of the schedule ended.',
    value: ({ status }) => seconds(status?.lastSuccessfulTime),
  },
  schedule_last_run_timestamp_seconds: {
    help: 'Unix time at which the last scan of the schedule ended, completed or failed.',
    value: ({ status }) => latest(seconds(status?.lastSuccessfulTime), seconds(status?.lastFailed?.completionTime)),
  },
};

/**
 * The series of single schedules, read from the cache at each scrape: they survive a change of the leader, and end with their
 * schedule. Tenants choose how many schedules there are, so beyond a number there are no series at all.
 */
export function createScheduleSeries({ gauge }: MetricFactory) {
  let source = NOTHING;
  const tooMany = (): boolean => source.list().length > SCHEDULE_SERIES_MAX;

  gauge('schedules', 'Number of schedules. Only the leader reports it.', {}, (own) => own.set(source.list().length));
  gauge(
    'schedule_series_missing',
    '1 if schedules have no series of their own, by reason, else 0. `too_many`: there are more than ' +
      `${SCHEDULE_SERIES_MAX.toLocaleString('en')} schedules, so none has. \`unreadable\`: the schedules of a watched namespace cannot be listed.`,
    { reason: MISSING },
    (own) => {
      own.set({ reason: 'too_many' }, tooMany() ? 1 : 0);
      own.set({ reason: 'unreadable' }, source.unreadable() ? 1 : 0);
    },
  );
  for (const [name, { help, value }] of Object.entries(SERIES))
    gauge(name, help, LABELS, (own) => {
      own.reset();
      if (tooMany()) return;
      for (const schedule of source.list()) {
        const { namespace, name: of } = schedule.metadata;
        const current = value(schedule, source);
        if (current !== undefined) own.set({ schedule_namespace: namespace!, schedule: of }, current);
      }
    });
  return {
    /** Reads the schedules from a source at each scrape, until `stoppedLeading`. */
    read: (next: ScheduleSource) => void (source = next),
    stoppedLeading: () => void (source = NOTHING),
  };
}

const bit = (value: boolean | undefined): number | undefined => (value === undefined ? undefined : Number(value));
const numberOf = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));
const seconds = (time: string | undefined): number | undefined => (time === undefined ? undefined : Date.parse(time) / 1000);

function latest(...times: (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

function conditionBit({ status }: ScanSchedule, type: string): number | undefined {
  const condition = conditionOf(status?.conditions, type);
  return condition === undefined || condition.status === 'Unknown' ? undefined : bit(condition.status === 'True');
}
