/** The metrics of mails. Labels are bounded: kinds and outcomes, never addresses. */
import { Counter, Gauge, type Registry } from '@prometheus-io/client';
import { SUPPRESSIONS, type SuppressionReason } from '../../stores/mail/suppressions.ts';
import { MAIL_KINDS, type MailKind } from '../../stores/mail/outbox.ts';

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
  /** The time for which the oldest unsent mail is due; 0 if there is none. */
  oldestDue(seconds: number): void;
  stoppedLeading(): void;
}

export function createMailMetrics(registry: Registry, prefix: string): MailMetrics {
  const registers = [registry];
  const attempts = new Counter({
    name: `${prefix}mail_attempts_total`,
    help: 'Attempts to send a mail, by kind and outcome. `deferred` mails are tried again; `unavailable`: the mail server accepted none.',
    labelNames: ['kind', 'outcome'],
    registers,
  });
  const suppressed = new Counter({
    name: `${prefix}mail_suppressed_total`,
    help: 'Mails that were not sent, because the address `bounced` or its owner `unsubscribed`.',
    labelNames: ['reason'],
    registers,
  });
  const bounced = new Counter({
    name: `${prefix}mail_bounces_total`,
    help: 'Addresses that the mail server refused for good.',
    registers,
  });
  const oldest = new Gauge({
    name: `${prefix}mail_oldest_due_seconds`,
    help: 'Time for which the oldest unsent mail is due, 0 if there is none. Only the leader reports it.',
    registers,
  });
  for (const kind of MAIL_KINDS) for (const outcome of MAIL_OUTCOMES) attempts.inc({ kind, outcome }, 0);
  for (const reason of SUPPRESSIONS) suppressed.inc({ reason }, 0);
  return {
    attempted: (kind, outcome) => attempts.inc({ kind, outcome }),
    suppressed: (reason) => suppressed.inc({ reason }),
    bounced: () => bounced.inc(),
    oldestDue: (seconds) => oldest.set(seconds),
    stoppedLeading: () => oldest.set(0),
  };
}
