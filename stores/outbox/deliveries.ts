/**
 * Deliveries of webhooks: one document for each event and endpoint, which is at the same time the queue, and the log with one
 * entry for each attempt. The claim of a delivery writes the entry of its attempt, so that a sender that dies leaves it behind.
 */
import { createHash } from 'node:crypto';
import type { Collection, Db, Filter, MongoBulkWriteError, UpdateFilter } from 'mongodb';
import { DELIVERY_KEPT_MS, type DeliveredEvent, type DeliveryState } from '../../core/webhooks/webhooks.ts';
import { createLeasedQueue } from '../leased-queue.ts';
import { onlyDuplicates, retryRace } from '../mongo-retry.ts';

/** An attempt. While it is under way, and if its sender died, it has no end. */
export interface DeliveryAttempt {
  at: Date;
  durationMs: number | null;
  /** Null: the endpoint did not answer. */
  statusCode: number | null;
  /** Why it failed. Null: it succeeded, or it has no end. */
  error: string | null;
  /** The beginning of the answer's body. */
  response: string | null;
}

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

export interface Delivery {
  id: string;
  /** `webhook-id`: the same for a replay, so that a receiver recognises it. */
  message: string;
  webhook: string;
  organisation: string;
  type: DeliveredEvent;
  scan: string | null;
  body: string;
  state: DeliveryState;
  attempts: readonly DeliveryAttempt[];
  createdAt: Date;
  /** When it is tried next. Null if it has ended. */
  nextAt: Date | null;
}

/** A delivery that the caller may try until the lease ends. */
export interface ClaimedDelivery {
  delivery: Delivery;
  holder: string;
  /** The number of attempts, including this one. */
  attempt: number;
}

/** Which deliveries to claim. */
export interface DeliveryFilter {
  /** Only of these endpoints, the first ones first. Default: of any, the delivery that is due for the longest time first. */
  onlyWebhooks?: readonly string[];
  /** Endpoints and organisations to pass over. */
  exceptWebhooks: readonly string[];
  exceptOrganisations: readonly string[];
}

export type AttemptEnd = Omit<DeliveryAttempt, 'at'>;

interface DeliveryDocument {
  _id: string;
  message: string;
  webhook: string;
  organisation: string;
  type: DeliveredEvent;
  scan: string | null;
  order: number;
  /** Somebody asked for it, so no other delivery waits for it. */
  replay?: true;
  body: string;
  state: DeliveryState;
  attempts: number;
  log: DeliveryAttempt[];
  dueAt: Date;
  holder?: string;
  createdAt: Date;
  expiresAt: Date;
}

/** How long a delivery waits for the one before it, at least, in milliseconds. */
const BEHIND_MS = 250;
/** How often a claim looks for a delivery that need not wait for another one. The next claim goes on. */
const LOOKS_MAX = 20;
const UNDER_WAY = { durationMs: null, statusCode: null, error: null, response: null };

const messageIdOf = (webhook: string, event: string): string =>
  `msg_${createHash('sha256').update(`${webhook} ${event}`).digest('hex').slice(0, 32)}`;

export function createDeliveries(db: Db, { now = () => new Date() }: { now?: () => Date } = {}) {
  const deliveries = db.collection<DeliveryDocument>('webhook_deliveries');
  const queue = createLeasedQueue(deliveries, now);
  const keptUntil = (): Date => new Date(now().getTime() + DELIVERY_KEPT_MS);

  const finish = (claim: ClaimedDelivery, update: UpdateFilter<DeliveryDocument>): Promise<boolean> =>
    queue.change({ id: claim.delivery.id, holder: claim.holder }, update);
  const ended = (claim: ClaimedDelivery, end: AttemptEnd) => ({
    [`log.${claim.attempt - 1}`]: { at: claim.delivery.attempts[claim.attempt - 1]!.at, ...end },
    expiresAt: keptUntil(),
  });

  return {
    /** Stores deliveries that are due now. One that is stored already, in any state, changes nothing. @returns each, in their order */
    async enqueue(list: readonly NewDelivery[]): Promise<{ id: string; added: boolean }[]> {
      if (list.length === 0) return [];
      const documents = list.map(({ event, ...delivery }) => newDocument(messageIdOf(delivery.webhook, event), delivery, now()));
      const known = new Set<number>();
      try {
        await deliveries.insertMany(documents, { ordered: false });
      } catch (error) {
        if (!onlyDuplicates(error)) throw error;
        for (const { index } of [(error as Partial<MongoBulkWriteError>).writeErrors ?? []].flat()) known.add(index);
      }
      return documents.map(({ _id: id }, index) => ({ id, added: !known.has(index) }));
    },

    /**
     * Stores another delivery with the same message.
     * @param key the same key stores one delivery, and returns it again
     * @returns null if there is no such delivery
     */
    async replay(organisation: string, webhook: string, id: string, key: string): Promise<Delivery | null> {
      const found = await deliveries.findOne({ _id: id, webhook, organisation });
      if (found === null) return null;
      const { message, type, scan, body } = found;
      // It does not wait for others: the person who asks for it decides about its time.
      const again = newDocument(message, { webhook, organisation, type, scan, order: 0, body }, now());
      const _id = `${message}-${createHash('sha256').update(`${id} ${key}`).digest('hex').slice(0, 16)}`;
      await retryRace(() => deliveries.updateOne({ _id }, { $setOnInsert: { ...again, _id, replay: true } }, { upsert: true }));
      return toDelivery((await deliveries.findOne({ _id }))!);
    },

    async find(organisation: string, webhook: string, id: string): Promise<Delivery | null> {
      const found = await deliveries.findOne({ _id: id, webhook, organisation });
      return found && toDelivery(found);
    },

    /** Returns deliveries of an endpoint, newest first. */
    async list(
      organisation: string,
      webhook: string,
      { after, state, limit }: { after?: { at: Date; id: string } | null; state?: DeliveryState; limit: number },
    ): Promise<Delivery[]> {
      const filter: Filter<DeliveryDocument> = {
        $and: [
          { webhook, organisation },
          state === undefined ? {} : { state },
          after ? { $or: [{ createdAt: { $lt: after.at } }, { createdAt: after.at, _id: { $lt: after.id } }] } : {},
        ],
      };
      return (await deliveries.find(filter).sort({ createdAt: -1, _id: -1 }).limit(limit).toArray()).map(toDelivery);
    },

    /**
     * Claims the next delivery, or returns null, and writes the entry of its attempt. One atomic step. A
     * delivery waits while an earlier one of its scan and endpoint does.
     */
    claim: (filter: DeliveryFilter, leaseMs: number) => claimNext(deliveries, queue, { filter, leaseMs, now }),

    /** Records the end of the attempt, and of the delivery. @returns false if another sender has claimed it since */
    end: (claim: ClaimedDelivery, state: Exclude<DeliveryState, 'waiting'>, attempt: AttemptEnd) =>
      finish(claim, { $set: { state, ...ended(claim, attempt) }, $unset: { holder: true } }),
    /** Records the end of the attempt, and makes the delivery due again. @returns as `end` */
    retry: (claim: ClaimedDelivery, at: Date, attempt: AttemptEnd) =>
      finish(claim, { $set: { dueAt: at, ...ended(claim, attempt) }, $unset: { holder: true } }),
    /** Ends a claimed delivery that is not tried, without the entry of this attempt. @param state default: canceled @returns as `end` */
    withdraw: (claim: ClaimedDelivery, state: 'canceled' | 'failed' = 'canceled') =>
      finish(claim, {
        $set: { state, attempts: claim.attempt - 1, log: claim.delivery.attempts.slice(0, -1) },
        $unset: { holder: true },
      }),

    /** Cancels the deliveries of an endpoint that wait and are not claimed. */
    async cancelAll(webhook: string) {
      await deliveries.updateMany({ webhook, state: 'waiting', holder: { $exists: false } }, { $set: { state: 'canceled' } });
    },

    /** Returns since when the oldest unclaimed delivery is due, or null. */
    oldestDue: () => queue.oldestDue(),
  };
}
export type Deliveries = ReturnType<typeof createDeliveries>;

async function claimNext(
  deliveries: Collection<DeliveryDocument>,
  queue: ReturnType<typeof createLeasedQueue<DeliveryDocument>>,
  { filter, leaseMs, now }: { filter: DeliveryFilter; leaseMs: number; now: () => Date },
): Promise<ClaimedDelivery | null> {
  const { onlyWebhooks, exceptWebhooks, exceptOrganisations } = filter;
  const only = onlyWebhooks?.filter((one) => !exceptWebhooks.includes(one));
  const wanted: Filter<DeliveryDocument> = {};
  if (only !== undefined) wanted.webhook = { $in: only };
  else if (exceptWebhooks.length > 0) wanted.webhook = { $nin: [...exceptWebhooks] };
  if (exceptOrganisations.length > 0) wanted.organisation = { $nin: [...exceptOrganisations] };
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    const at = now();
    const due: Filter<DeliveryDocument> = { state: 'waiting', dueAt: { $lte: at }, ...wanted };
    if (only !== undefined) {
      const first = await firstOf(only, async (some) => (await deliveries.findOne({ ...due, webhook: { $in: [...some] } })) !== null);
      if (first === null) return null;
      due.webhook = first;
    }
    const [next] = await deliveries.find(due).sort({ dueAt: 1 }).limit(1).toArray();
    if (next === undefined) return null;
    const { _id, webhook, scan, order, dueAt } = next;
    // It is stored before this one, and does not wait any more once it has ended.
    const earlier =
      scan === null || order === 0
        ? null
        : await deliveries.findOne({ webhook, scan, state: 'waiting', order: { $lt: order }, replay: { $exists: false } });
    if (earlier !== null) {
      // While it is under way, `dueAt` is the end of its lease, and it ends sooner.
      const until = earlier.holder === undefined ? earlier.dueAt.getTime() : 0;
      const later = new Date(Math.max(until, at.getTime() + BEHIND_MS));
      await deliveries.updateOne({ _id, state: 'waiting', dueAt }, { $set: { dueAt: later } });
      continue;
    }
    const claimed = await queue.claim({ _id }, leaseMs, { $push: { log: { at, ...UNDER_WAY } } });
    // Another sender was faster.
    if (claimed === null) continue;
    const { document, holder } = claimed;
    const delivery = toDelivery({ ...document, log: [...document.log, { at, ...UNDER_WAY }] });
    return { delivery, holder, attempt: document.attempts + 1 };
  }
  return null;
}

/** Returns the first of a list that has something, by halving the list; null if none has. @param anyHas whether one of these has it */
async function firstOf(list: readonly string[], anyHas: (some: readonly string[]) => Promise<boolean>): Promise<string | null> {
  if (list.length === 0 || !(await anyHas(list))) return null;
  let among = list;
  while (among.length > 1) {
    const half = among.slice(0, Math.ceil(among.length / 2));
    among = (await anyHas(half)) ? half : among.slice(half.length);
  }
  return among[0]!;
}

function newDocument(message: string, delivery: Omit<NewDelivery, 'event'>, at: Date): DeliveryDocument {
  const kept = new Date(at.getTime() + DELIVERY_KEPT_MS);
  return { _id: message, message, ...delivery, state: 'waiting', attempts: 0, log: [], dueAt: at, createdAt: at, expiresAt: kept };
}

function toDelivery({ _id, message, webhook, organisation, type, scan, body, state, log, createdAt, dueAt }: DeliveryDocument): Delivery {
  const nextAt = state === 'waiting' ? dueAt : null;
  return { id: _id, message, webhook, organisation, type, scan, body, state, attempts: log, createdAt, nextAt };
}
