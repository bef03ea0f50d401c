/**
 * Events of webhooks that are not the end of a scan, until they are in the queue of each endpoint. The end of a scan is recorded
 * in its row (`Scans.unannounced`).
 */
import type { Db } from 'mongodb';
import type { ScheduleRegression } from '../../core/webhooks/webhooks.ts';
import { retryRace } from '../mongo-retry.ts';

/** A regression of a schedule, as its status states it. */
export interface WebhookEventRecord {
  /** The scan by which it was found. */
  scan: string;
  organisation: string;
  at: Date;
  data: ScheduleRegression;
}

type EventDocument = Omit<WebhookEventRecord, 'scan'> & { _id: string; done: boolean; expiresAt: Date };

/** How long it is known that an event was sent, in milliseconds: the operator may repeat it after a crash. */
const KEPT_MS = 7 * 86_400_000;

export function createWebhookEvents(db: Db) {
  const events = db.collection<EventDocument>('webhook_events');
  return {
    /** Stores an event. The same scan causes one event; repeating it changes nothing. */
    async add({ scan, ...event }: WebhookEventRecord) {
      const document = { ...event, done: false, expiresAt: new Date(event.at.getTime() + KEPT_MS) };
      await retryRace(() => events.updateOne({ _id: scan }, { $setOnInsert: document }, { upsert: true }));
    },

    /** Returns at most `limit` events, oldest first. @param except not of these organisations */
    async pending(limit: number, except: readonly string[] = []): Promise<WebhookEventRecord[]> {
      const others = except.length > 0 && { organisation: { $nin: [...except] } };
      const found = await events
        .find({ done: false, ...others })
        .sort({ at: 1 })
        .limit(limit)
        .toArray();
      return found.map(({ _id, organisation, at, data }) => ({ scan: _id, organisation, at, data }));
    },

    /** Empties the event of an erased scan. It is not sent, and what a crash repeats does not store it again. */
    async erase(scan: string) {
      await events.updateOne({ _id: scan }, { $set: { done: true }, $unset: { data: '' as const } });
    },

    async remove(scan: string) {
      await events.updateOne({ _id: scan }, { $set: { done: true } });
    },
  };
}
