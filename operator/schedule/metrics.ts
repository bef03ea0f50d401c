/** The metrics of schedules. Labels are bounded: triggers and reasons, never names. */
import type { MetricFactory } from '../../stores/process-metrics.ts';
import { SKIP_REASONS, type Refusal, type SkipReason, type Trigger } from './policy/facts.ts';

export interface ScheduleMetrics {
  /** A scan was created `delaySeconds` after it was due, jitter included. */
  started(trigger: Trigger, delaySeconds: number): void;
  skipped(reason: SkipReason, count: number): void;
  /** The API server did not create a scan. */
  refused(reason: Refusal['reason']): void;
  /** A scan failed. `repeated`: several in a row, so that the schedule is stalled. */
  failed(repeated: boolean): void;
}

const TRIGGERS: readonly Trigger[] = ['time', 'request'];
const REFUSALS: readonly Refusal['reason'][] = ['NameTaken', 'CreateRefused'];

export function createScheduleMetrics({ counter, histogram }: MetricFactory): ScheduleMetrics {
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
    started(trigger, delaySeconds) {
      started.inc({ trigger });
      delay.observe({ trigger }, delaySeconds);
    },
    skipped: (reason, count) => skipped.inc({ reason }, count),
    refused: (reason) => refused.inc({ reason }),
    failed: (repeated) => failed.inc({ repeated: String(repeated) }),
  };
}
