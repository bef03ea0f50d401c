/** The metrics of mails and webhooks. Labels are bounded: kinds and outcomes, never addresses, organisations or endpoints. */
import type { MetricFactory } from '../../stores/process-metrics.ts';
import { MAIL_KINDS } from '../../stores/outbox/mails.ts';
import { SUPPRESSIONS } from '../../stores/outbox/suppressions.ts';
import { POST_OUTCOMES } from './post.ts';

/** `deferred`: tried again later. `unavailable`: the mail server accepted no mail, and the mail waits. */
const MAIL_OUTCOMES = ['sent', 'deferred', 'failed', 'unavailable'] as const;

/** Each replica reports the same `oldest_due`: the time since which the oldest entry that nobody has claimed is due. */
export function createOutboxMetrics({ counter, gauge }: MetricFactory) {
  return {
    mailAttempts: counter(
      'mail_attempts_total',
      'Attempts to send a mail, by kind and outcome. `deferred` mails are tried again; `unavailable`: the mail server accepted none.',
      { kind: MAIL_KINDS, outcome: MAIL_OUTCOMES },
    ),
    suppressed: counter('mail_suppressed_total', 'Mails that were not sent, because the address `bounced` or its owner `unsubscribed`.', {
      reason: SUPPRESSIONS,
    }),
    bounces: counter('mail_bounces_total', 'Addresses that the mail server refused for good.'),
    oldestMail: gauge('mail_oldest_due_seconds', 'Time since the oldest unsent mail became due, 0 if there is none.'),
    webhookAttempts: counter(
      'webhook_attempts_total',
      'Attempts to deliver a webhook. `refused`: an answer other than 2xx; `disallowed`: the target rules forbid the address.',
      { outcome: POST_OUTCOMES },
    ),
    stopped: counter('webhooks_stopped_total', 'Webhooks that were disabled, because they answered 410 or failed for days.', {
      reason: ['gone', 'failing'],
    }),
    oldestWebhook: gauge(
      'webhook_oldest_due_seconds',
      'Time since the oldest waiting delivery of a webhook became due, 0 if there is none.',
    ),
  };
}
export type OutboxMetrics = ReturnType<typeof createOutboxMetrics>;
