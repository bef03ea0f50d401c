/** Reads a mail of the outbox, in any state. */
import type { Db } from 'mongodb';
import type { MailEntry } from '../../stores/outbox/entries.ts';

/** @returns null if it is not stored. `to` is null after it was removed; `reason` is why the last attempt failed, or why it was not sent */
export async function findMail(db: Db, id: string) {
  const entry = await db.collection<MailEntry>('outbox').findOne({ _id: id });
  if (entry === null) return null;
  const { kind, to, state, attempts, log, createdAt, dueAt } = entry;
  return { id, kind, to: to ?? null, state, attempts, reason: log.at(-1)?.error ?? null, createdAt, dueAt };
}
