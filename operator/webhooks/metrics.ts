/** The metrics of webhooks. Labels are bounded: events and outcomes, never organisations or endpoints. */
import { WEBHOOK_EVENTS, type WebhookEvent } from '../../core/webhooks/webhooks.ts';
import type { MetricFactory } from '../../stores/process-metrics.ts';
import { POST_OUTCOMES, type PostOutcome } from './post.ts';

export interface WebhookMetrics {
  /** An event was put into the queues of its endpoints. */
  announced(event: WebhookEvent): void;
  attempted(outcome: PostOutcome): void;
  stopped(reason: 'gone' | 'failing'): void;
  /** How long ago the oldest waiting delivery became due. */
  oldestDue(seconds: number): void;
  stoppedLeading(): void;
}

export function createWebhookMetrics({ counter, gauge }: MetricFactory): WebhookMetrics {
  const announced = counter('webhook_events_total', 'Events that were queued for the webhooks of their organisation.', {
    event: WEBHOOK_EVENTS,
  });
  const attempts = counter(
    'webhook_attempts_total',
    'Attempts to deliver a webhook. `refused`: an answer other than 2xx; `disallowed`: the target rules forbid the address.',
    { outcome: POST_OUTCOMES },
  );
  const stopped = counter('webhooks_stopped_total', 'Webhooks that were disabled, because they answered 410 or failed for days.', {
    reason: ['gone', 'failing'],
  });
  const oldest = gauge(
    'webhook_oldest_due_seconds',
    'Time since the oldest waiting delivery of a webhook became due, 0 if there is none. Only the leader reports it.',
  );
  return {
    announced: (event) => announced.inc({ event }),
    attempted: (outcome) => attempts.inc({ outcome }),
    stopped: (reason) => stopped.inc({ reason }),
    oldestDue: (seconds) => oldest.set(seconds),
    stoppedLeading: () => oldest.set(0),
  };
}
