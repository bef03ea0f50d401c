/** The metrics of mails. Labels are bounded: kinds and outcomes, never addresses. */
import { SUPPRESSIONS, type SuppressionReason } from '../../stores/mail/suppressions.ts';
import { MAIL_KINDS, type MailKind } from '../../stores/mail/outbox.ts';
import type { MetricFactory } from '../../stores/process-metrics.ts';

/** `deferred`: tried again later. `unavailable`: the mail server accepted no mail, and the mail waits. */
export const MAIL_OUTCOMES = ['sent', 'deferred', 'failed', 'unavailable'] as const;
export type MailOutcome = (typeof MAIL_OUTCOMES)[number];

export interface MailMetrics {
  /** An attempt to send a mail. */
  attempted(kind: MailKind, outcome: MailOutcome): void;
  /** A mail was not sent, because its address is suppressed. */
  suppressed(reason: SuppressionReason): void;
  /** A mail server refused an address for good. */
  bounced(): void;
  /** How long ago the oldest unsent mail became due; 0 if there is none. */
  oldestDue(seconds: number): void;
  stoppedLeading(): void;
}

export function createMailMetrics({ counter, gauge }: MetricFactory): MailMetrics {
  const attempts = counter(
    'mail_attempts_total',
    'Attempts to send a mail, by kind and outcome. `deferred` mails are tried again; `unavailable`: the mail server accepted none.',
    { kind: MAIL_KINDS, outcome: MAIL_OUTCOMES },
  );
  const suppressed = counter(
    'mail_suppressed_total',
    'Mails that were not sent, because the address `bounced` or its owner `unsubscribed`.',
    { reason: SUPPRESSIONS },
  );
  const bounced = counter('mail_bounces_total', 'Addresses that the mail server refused for good.');
  const oldest = gauge(
    'mail_oldest_due_seconds',
    'Time since the oldest unsent mail became due, 0 if there is none. Only the leader reports it.',
  );
  return {
    attempted: (kind, outcome) => attempts.inc({ kind, outcome }),
    suppressed: (reason) => suppressed.inc({ reason }),
    bounced: () => bounced.inc(),
    oldestDue: (seconds) => oldest.set(seconds),
    stoppedLeading: () => oldest.set(0),
  };
}
