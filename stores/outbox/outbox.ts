/**
 * Mails to send, one document per mail. The id of a mail names its cause, so that the same mail is never stored twice. The
 * operator's leader claims due mails with a lease, and only the holder of the lease records what became of the mail.
 */
import type { Db, Filter, UpdateFilter } from 'mongodb';
import type { AccountNotice } from '../../core/audit-actions.ts';
import { domainOf } from '../../core/email-address.ts';
import type { Locale } from '../../core/scan/locales.ts';
import { createLeasedQueue } from '../leased-queue.ts';
import { insertNew } from '../mongo-retry.ts';

/** What the templates need, by kind of mail. Links that grant access are removed from the outbox when the mail has ended. */
export interface MailData {
  /** A public scan ended. The sender reads the result itself. */
  scan_result: { scanId: string };
  /** Someone was invited to an organisation. */
  invitation: { organisation: string; invitedBy: string; url: string; expiresAt: string };
  /** Someone asked for a link to set a new password. */
  password_reset: { url: string; expiresAt: string };
  /** Something happened to the security of the recipient's account. `client` is null if an administrator did it. */
  account_notice: { event: AccountNotice; at: string; client: { network: string; browser: string } | null };
  /** A webhook of the recipient's organisation gets no deliveries any more. `path` is its page. */
  webhook_stopped: { organisation: string; webhook: string; host: string; reason: 'gone' | 'failing'; since: string; path: string };
}
export type MailKind = keyof MailData;
export const MAIL_KINDS = [
  'scan_result',
  'invitation',
  'password_reset',
  'account_notice',
  'webhook_stopped',
] as const satisfies readonly MailKind[];

/**
 * Which mails are sent first. `account` mails let users sign in, or warn them. `organisation` mails are sent on behalf of an
 * organisation, which has a share of the deliveries. `public` mails are the results of public scans.
 */
export const MAIL_PRIORITIES = ['account', 'organisation', 'public'] as const;
export type MailPriority = (typeof MAIL_PRIORITIES)[number];
export const LANE_OF: Readonly<Record<MailKind, MailPriority>> = {
  password_reset: 'account',
  account_notice: 'account',
  invitation: 'organisation',
  webhook_stopped: 'organisation',
  scan_result: 'public',
};
const kindsOf = (lane: MailPriority): MailKind[] => MAIL_KINDS.filter((kind) => LANE_OF[kind] === lane);

/** A mail of any kind, with the data of its kind. */
export type NewMail = {
  [K in MailKind]: {
    /** The mail's cause: `result:<scan id>`, `invitation:<id>`, `password-reset:<id>`, `account-notice:<id>` or `webhook-stopped:<id>:<time>:<address>`. */
    id: string;
    kind: K;
    /** One e-mail address. */
    to: string;
    locale: Locale;
    /** The organisation on whose behalf it is sent. */
    organisation?: string;
    data: MailData[K];
  };
}[MailKind];

/** The id of the mail about the result of a scan. */
export const resultMailId = (scanId: string): string => `result:${scanId}`;

/**
 * `waiting`: will be sent when it is due. `sent`: the mail server accepted it. `failed`: given up. `suppressed`: not sent,
 * because the address bounced or its owner unsubscribed.
 */
export const MAIL_STATES = ['waiting', 'sent', 'failed', 'suppressed'] as const;
export type MailState = (typeof MAIL_STATES)[number];

/** A mail that the caller may send until the lease ends. */
export interface ClaimedMail {
  mail: NewMail;
  /** The id of this claim. Another claim of the same mail has another one. */
  holder: string;
  dueAt: Date;
  /** The number of attempts, including this one. */
  attempts: number;
  createdAt: Date;
}

/** An entry as people and tests see it. `to` is null after it was removed. */
export interface MailEntry {
  id: string;
  kind: MailKind;
  to: string | null;
  locale: Locale;
  state: MailState;
  attempts: number;
  /** Why the last attempt failed, or why the mail was not sent. */
  reason: string | null;
  createdAt: Date;
  dueAt: Date;
  finishedAt: Date | null;
}

/** Which mails to claim. Default: any. */
export interface MailFilter {
  lane?: MailPriority;
  /** Recipients' domains to pass over. */
  exceptDomains?: readonly string[];
  /** Organisations to pass over. */
  exceptOrganisations?: readonly string[];
}

const DAY_MS = 86_400_000;
/** How long an entry that ended keeps the recipient's address. */
export const ADDRESS_KEPT_DAYS = 30;
/** How long an entry is kept after its creation. Longer than any mail waits. */
export const ENTRY_KEPT_DAYS = 90;

interface MailDocument {
  _id: string;
  kind: MailKind;
  to?: string;
  /** The recipient's domain, in lower case. */
  domain?: string;
  organisation?: string;
  locale: Locale;
  /** Removed when the mail has ended, because it may contain links that grant access. */
  data?: MailData[MailKind];
  state: MailState;
  attempts: number;
  dueAt: Date;
  /** Absent: not claimed. While it is claimed, `dueAt` is the end of the lease. */
  holder?: string;
  reason: string | null;
  createdAt: Date;
  finishedAt: Date | null;
  /** When to remove the address. Absent until the mail has ended, and after the removal. */
  addressUntil?: Date;
  /** When the server removes the document. */
  expiresAt: Date;
}

export function createOutbox(db: Db, { now = () => new Date() }: { now?: () => Date } = {}) {
  const mails = db.collection<MailDocument>('outbox');
  const later = (days: number): Date => new Date(now().getTime() + days * DAY_MS);

  const queue = createLeasedQueue(mails, now);
  const change = ({ mail, holder }: ClaimedMail, update: UpdateFilter<MailDocument>) => queue.change({ id: mail.id, holder }, update);

  const finish = (claim: ClaimedMail, state: MailState, reason: string | null): Promise<boolean> =>
    change(claim, {
      $set: { state, reason, finishedAt: now(), addressUntil: later(ADDRESS_KEPT_DAYS) },
      $unset: { data: true, holder: true },
    });

  return {
    /** Stores a mail that is due now. A mail whose id is stored already, in any state, changes nothing. */
    async enqueue({ id, kind, to, locale, organisation, data }: NewMail) {
      const at = now();
      const of = organisation === undefined ? {} : { organisation };
      const entry = {
        kind,
        to,
        domain: domainOf(to),
        ...of,
        locale,
        data,
        state: 'waiting',
        attempts: 0,
        dueAt: at,
        reason: null,
      } as const;
      await insertNew(mails, { _id: id, ...entry, createdAt: at, finishedAt: null, expiresAt: later(ENTRY_KEPT_DAYS) });
    },

    /**
     * Claims the mail that is due for the longest time, or returns null. One atomic step: of several processes, one gets it.
     * @param leaseMs the time after which another claim may take the mail
     */
    async claim({
      leaseMs,
      lane,
      exceptDomains = [],
      exceptOrganisations = [],
    }: MailFilter & { leaseMs: number }): Promise<ClaimedMail | null> {
      const wanted: Filter<MailDocument> = {};
      if (lane !== undefined) wanted.kind = { $in: kindsOf(lane) };
      if (exceptDomains.length > 0) wanted.domain = { $nin: [...exceptDomains] };
      if (exceptOrganisations.length > 0) wanted.organisation = { $nin: [...exceptOrganisations] };
      const claimed = await queue.claim(wanted, leaseMs);
      if (claimed === null) return null;
      const { document, holder } = claimed;
      const { _id: id, kind, to, locale, organisation, data, dueAt, attempts, createdAt } = document;
      const mail = { id, kind, to, locale, ...(organisation !== undefined && { organisation }), data } as NewMail;
      return { mail, holder, dueAt, attempts: attempts + 1, createdAt };
    },

    /** Records that the mail server accepted the mail. @returns false if another process has claimed it since */
    sent: (claim: ClaimedMail) => finish(claim, 'sent', null),
    /** Gives the mail up. @returns as `sent` */
    fail: (claim: ClaimedMail, reason: string) => finish(claim, 'failed', reason),
    /** Records that the mail is not sent. @returns as `sent` */
    suppress: (claim: ClaimedMail, reason: string) => finish(claim, 'suppressed', reason),
    /** Makes the mail due again at `at`. @returns as `sent` */
    retry: (claim: ClaimedMail, at: Date, reason: string) => change(claim, { $set: { dueAt: at, reason }, $unset: { holder: true } }),
    /** Makes the mail due as if this claim had not been made, also for `oldestDue`. @returns as `sent` */
    release: (claim: ClaimedMail) => change(claim, { $set: { dueAt: claim.dueAt }, $inc: { attempts: -1 }, $unset: { holder: true } }),

    async find(id: string): Promise<MailEntry | null> {
      const entry = await mails.findOne({ _id: id });
      if (entry === null) return null;
      const { kind, to = null, locale, state, attempts, reason, createdAt, dueAt, finishedAt } = entry;
      return { id, kind, to, locale, state, attempts, reason, createdAt, dueAt, finishedAt };
    },

    /** Returns the time since which the oldest unclaimed mail is due, or null if none is. */
    oldestDue: () => queue.oldestDue(),

    /** Removes the address from entries that ended `ADDRESS_KEPT_DAYS` ago. @returns their number */
    async removeAddresses(): Promise<number> {
      const ended: Filter<MailDocument> = { addressUntil: { $lte: now() } };
      const { modifiedCount } = await mails.updateMany(ended, { $unset: { to: true, domain: true, addressUntil: true } });
      return modifiedCount;
    },
  };
}
export type Outbox = ReturnType<typeof createOutbox>;
