/** The kinds of mails: what each needs, and which are sent first. */
import type { AccountNotice } from '../../core/audit-actions.ts';
import type { Locale } from '../../core/scan/locales.ts';
import type { ScheduleRegression } from '../../core/webhooks/webhooks.ts';
import type { MailTopic } from './subscriptions.ts';

/** What the templates need, by kind of mail. Links that grant access are removed from the outbox when the mail has ended. */
export interface MailData {
  /** A public scan ended. The sender reads the result itself. */
  scan_result: { scanId: string };
  /**
   * A scan ended that the recipient started, or a schedule of a site that the recipient watches got worse. The sender reads whether the
   * recipient still wants the mail, and the result.
   */
  scan_ended: {
    subscription: string;
    topic: MailTopic;
    scanId: string;
    /** Of a schedule: the numbers of its comparison; null if it could not be compared. */
    comparison?: ScheduleRegression['comparison'];
    expiresAt: string;
  };
  /** The sites of an organisation in the week until a time. */
  weekly_summary: { subscription: string; until: string; expiresAt: string };
  /** Someone without an account is asked whether mails may be sent. */
  recipient_consent: { organisation: string; invitedBy: string; topics: readonly MailTopic[]; url: string; expiresAt: string };
  /** Someone was invited to an organisation. */
  invitation: { organisation: string; invitedBy: string; url: string; expiresAt: string };
  /** Someone asked for a link to set a new password. */
  password_reset: { url: string; expiresAt: string };
  /** Something happened to the security of the recipient's account. `client` is null if an administrator did it. */
  account_notice: { event: AccountNotice; at: string; client: { network: string; browser: string } | null };
  /** A webhook of the recipient's organisation gets no deliveries any more. `path` is its page. */
  webhook_stopped: { organisation: string; webhook: string; host: string; reason: 'gone' | 'failing'; since: string; path: string };
  /** Rights in the recipient's organisation changed. `person` did it, or left `subject`: in numbers, else the key or the new owner. */
  owner_notice: { event: OwnerNotice; organisation: string; person: string; subject: string; path: string };
}
export const OWNER_NOTICES = ['left_behind', 'key_created', 'key_adopted', 'owner_added'] as const;
export type OwnerNotice = (typeof OWNER_NOTICES)[number];
export type MailKind = keyof MailData;

/**
 * Which mails are sent first. `account` mails let users sign in, or warn them. `organisation` mails are sent on behalf of an
 * organisation, which has a share of the deliveries. `public` mails are the results of public scans.
 */
export const MAIL_PRIORITIES = ['account', 'organisation', 'public'] as const;
export type MailPriority = (typeof MAIL_PRIORITIES)[number];
export const PRIORITY_OF: Readonly<Record<MailKind, MailPriority>> = {
  password_reset: 'account',
  account_notice: 'account',
  invitation: 'organisation',
  webhook_stopped: 'organisation',
  owner_notice: 'organisation',
  recipient_consent: 'organisation',
  scan_ended: 'organisation',
  weekly_summary: 'organisation',
  scan_result: 'public',
};
export const MAIL_KINDS = Object.keys(PRIORITY_OF) as MailKind[];

/** A mail of any kind, with the data of its kind. */
export type NewMail = {
  [K in MailKind]: {
    /** The mail's cause: `result:<scan id>`, `scan-ended:<id>`, `weekly-summary:<id>`, `recipient-consent:<id>`, `invitation:<id>`, `password-reset:<id>`, `account-notice:<id>`, `owner-notice:<id>` or `webhook-stopped:<id>:<time>:<address>`. */
    id: string;
    kind: K;
    /** One e-mail address. */
    to: string;
    /** Absent: that of the recipient's account, which the sender reads. */
    locale?: Locale;
    /** The organisation on whose behalf it is sent. */
    organisation?: string;
    data: MailData[K];
  };
}[MailKind];

/** The id of the mail about the result of a scan. */
export const resultMailId = (scanId: string): string => `result:${scanId}`;

/** How long an entry that ended keeps the recipient's address. */
export const ADDRESS_KEPT_DAYS = 30;
/** How long an entry is kept after its creation. Longer than any mail waits. */
export const ENTRY_KEPT_DAYS = 90;
