/** The deliveries of webhooks in the outbox, for the organisations whose events they are: one for each event and endpoint, with its log. */
import { createHash } from 'node:crypto';
import type { Db, Filter } from 'mongodb';
import { DELIVERY_KEPT_MS, type DeliveryState } from '../../core/webhooks/webhooks.ts';
import { retryRace } from '../mongo-retry.ts';
import { insertEntries, outboxOf, queuedAt, type Attempt, type DeliveryEntry, type NewDelivery, type OutboxEntry } from './entries.ts';

export interface Delivery extends Omit<NewDelivery, 'event' | 'order'> {
  id: string;
  message: string;
  state: DeliveryState;
  attempts: readonly Attempt[];
  createdAt: Date;
  /** When it is tried next. Null if it has ended. */
  nextAt: Date | null;
}

const messageIdOf = (webhook: string, event: string): string =>
  `msg_${createHash('sha256').update(`${webhook} ${event}`).digest('hex').slice(0, 32)}`;

export function createDeliveries(db: Db) {
  const outbox = outboxOf(db);
  const one = async (organisation: string, webhook: string, _id: string): Promise<DeliveryEntry | null> =>
    (await outbox.findOne({ _id, priority: 'webhook', fairnessKey: webhook, organisation })) as DeliveryEntry | null;

  return {
    /** Stores deliveries that are due now. One that is stored already, in any state, changes nothing. @returns each, in their order */
    enqueue: (list: readonly NewDelivery[]) =>
      insertEntries(outbox, list.map(({ event, ...delivery }) => newEntry(messageIdOf(delivery.webhook, event), delivery))), // prettier-ignore

    /**
     * Stores another delivery with the same message.
     * @param key the same key stores one delivery, and returns it again
     * @returns null if there is no such delivery
     */
    async replay(organisation: string, webhook: string, id: string, key: string): Promise<Delivery | null> {
      const found = await one(organisation, webhook, id);
      if (found === null) return null;
      const { message, type, scan, body } = found;
      // It does not wait for others: the person who asks for it decides about its time.
      const again = newEntry(message, { webhook, organisation, type, scan, order: 0, body });
      const _id = `${message}-${createHash('sha256').update(`${id} ${key}`).digest('hex').slice(0, 16)}`;
      await retryRace(() => outbox.updateOne({ _id }, { $setOnInsert: { ...again, _id, replay: true } }, { upsert: true }));
      return toDelivery((await one(organisation, webhook, _id))!);
    },

    async find(organisation: string, webhook: string, id: string): Promise<Delivery | null> {
      const found = await one(organisation, webhook, id);
      return found && toDelivery(found);
    },

    /** Returns deliveries of an endpoint, newest first. */
    async list(
      organisation: string,
      webhook: string,
      { after, state, limit }: { after?: { at: Date; id: string } | null; state?: DeliveryState; limit: number },
    ): Promise<Delivery[]> {
      const filter: Filter<OutboxEntry> = {
        $and: [
          { priority: 'webhook', fairnessKey: webhook, organisation },
          state === undefined ? {} : { state },
          after ? { $or: [{ createdAt: { $lt: after.at } }, { createdAt: after.at, _id: { $lt: after.id } }] } : {},
        ],
      };
      const found = await outbox.find(filter).sort({ createdAt: -1, _id: -1 }).limit(limit).toArray();
      return (found as DeliveryEntry[]).map(toDelivery);
    },

    /** Deletes the deliveries of a scan that is deleted, in any state. */
    async removeOf(scan: string) {
      await outbox.deleteMany({ priority: 'webhook', scan });
    },

    /** Cancels the deliveries of an endpoint that wait and are not claimed. */
    async cancelAll(webhook: string) {
      const waiting = { fairnessKey: webhook, state: 'waiting', priority: 'webhook', holder: { $exists: false } } as const;
      await outbox.updateMany(waiting, { $set: { state: 'canceled' } });
    },
  };
}

function newEntry(message: string, { webhook, ...delivery }: Omit<NewDelivery, 'event'>): DeliveryEntry {
  const at = new Date();
  const expiresAt = new Date(at.getTime() + DELIVERY_KEPT_MS);
  return { _id: message, message, priority: 'webhook', fairnessKey: webhook, ...delivery, ...queuedAt(at), expiresAt };
}

function toDelivery({ _id: id, message, fairnessKey: webhook, log, dueAt, ...entry }: DeliveryEntry): Delivery {
  const { organisation, type, scan, body, createdAt } = entry;
  const state = entry.state as DeliveryState;
  return {
    id,
    message,
    webhook,
    organisation,
    type,
    scan,
    body,
    state,
    attempts: log,
    createdAt,
    nextAt: state === 'waiting' ? dueAt : null,
  };
}
