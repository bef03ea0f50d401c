/** The documents of the outbox: mails, and deliveries of webhooks. */
import type { Collection, Db } from 'mongodb';
import { domainOf } from '../../core/email-address.ts';
import type { DeliveredEvent, DeliveryState } from '../../core/webhooks/webhooks.ts';
import { insertMissing } from '../mongo-retry.ts';
import { ENTRY_KEPT_DAYS, PRIORITY_OF, type MailData, type MailKind, type MailPriority, type NewMail } from './mails.ts';

/** An attempt. While it is under way, and if its sender died, it has no end. */
export interface Attempt {
  at: Date;
  durationMs: number | null;
  /** Of webhooks. Null: the endpoint did not answer. */
  statusCode: number | null;
  /** Why it failed. Null: it succeeded, or it has no end. */
  error: string | null;
  /** The beginning of the answer's body. */
  response: string | null;
}
export type AttemptEnd = Omit<Attempt, 'at'>;

/** `suppressed`: a mail that is not sent, because the address bounced or its owner unsubscribed. */
export type EntryState = DeliveryState | 'suppressed';

/** What the queue needs of an entry. */
export interface QueuedFields {
  _id: string;
  priority: MailPriority | 'webhook';
  /** Those with the same key share the deliveries at the same time, as those of an organisation do. */
  fairnessKey: string;
  organisation?: string;
  state: EntryState;
  attempts: number;
  log: Attempt[];
  dueAt: Date;
  /** The id of the claim. Absent: not claimed. */
  holder?: string;
  createdAt: Date;
  /** When the server removes the document. */
  expiresAt: Date;
  /** When to remove the address of a mail. Absent until it has ended, and after the removal. */
  addressUntil?: Date;
}

/** A mail in the outbox. Its fairness key is the recipient's domain, in lower case. */
export type MailEntry = QueuedFields &
  Omit<NewMail, 'id' | 'kind' | 'data'> & { priority: MailPriority } & {
    [K in MailKind]: { kind: K; data: MailData[K] };
  }[MailKind];

export interface NewDelivery {
  webhook: string;
  organisation: string;
  /** The event's identity, such as `scan.completed:<scan>`. The same event is stored once for an endpoint. */
  event: string;
  type: DeliveredEvent;
  /** The scan that the event is about. Deliveries of one scan are sent in the order of `order`. */
  scan: string | null;
  order: number;
  /** The body of the request. */
  body: string;
}

/** A delivery in the outbox. Its fairness key is the webhook. */
export interface DeliveryEntry extends QueuedFields, Omit<NewDelivery, 'webhook' | 'event'> {
  priority: 'webhook';
  organisation: string;
  /** `webhook-id`: the same for a replay, so that a receiver recognises it. */
  message: string;
  /** Somebody asked for it, so no other delivery waits for it. */
  replay?: true;
}

export type OutboxEntry = MailEntry | DeliveryEntry;

export const outboxOf = (db: Db): Collection<OutboxEntry> => db.collection<OutboxEntry>('outbox');

/** The fields of an entry that is due now. */
export const queuedAt = (at: Date) => ({ state: 'waiting' as const, attempts: 0, log: [], dueAt: at, createdAt: at });

/** Stores entries. One that is stored already, in any state, changes nothing. @returns each, in their order */
export async function insertEntries(entries: Collection<OutboxEntry>, list: OutboxEntry[]): Promise<{ id: string; added: boolean }[]> {
  const known = await insertMissing(entries, list);
  return list.map(({ _id: id }, index) => ({ id, added: !known.has(index) }));
}

const DAY_MS = 86_400_000;
export const daysAfter = (at: Date, days: number): Date => new Date(at.getTime() + days * DAY_MS);

export function newMailEntry({ id, ...mail }: NewMail, at: Date): MailEntry {
  const fair = { priority: PRIORITY_OF[mail.kind], fairnessKey: domainOf(mail.to) };
  return { _id: id, ...mail, ...fair, ...queuedAt(at), expiresAt: daysAfter(at, ENTRY_KEPT_DAYS) } as MailEntry;
}
