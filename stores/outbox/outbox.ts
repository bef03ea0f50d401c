/**
 * What waits to be sent: mails and deliveries of webhooks. Each is one document: its place in the queue, and its log. The log of a delivery
 * has an entry for each attempt, that of a mail the last one. A waiting document is claimed with a lease, and only the holder of the lease
 * records what became of it. While it is claimed, `dueAt` is the end of the lease. The id of a document names its cause, so that nothing is
 * stored twice.
 */
import { randomUUID } from 'node:crypto';
import type { Collection, Db, Filter } from 'mongodb';
import { DELIVERY_KEPT_MS } from '../../core/webhooks/webhooks.ts';
import {
  daysAfter,
  insertEntries,
  newMailEntry,
  outboxOf,
  type AttemptEnd,
  type DeliveryEntry,
  type EntryState,
  type OutboxEntry,
  type QueuedFields,
} from './entries.ts';
import { ADDRESS_KEPT_DAYS, type NewMail } from './mails.ts';

/** An entry that the caller may try until the lease ends. Its last attempt is this one. */
export interface Claim<E extends OutboxEntry = OutboxEntry> {
  entry: E;
  /** Since when it was due. */
  dueAt: Date;
}

/** Which entries to claim. Default: any. */
export interface ClaimFilter {
  priority?: QueuedFields['priority'];
  /** Only with these keys, the first ones first. Default: with any, the entry that is due for the longest time first. */
  onlyKeys?: readonly string[];
  /** Keys and organisations to pass over. */
  exceptKeys?: readonly string[];
  exceptOrganisations?: readonly string[];
}

/** How long a delivery waits for the one before it, at least, in milliseconds. */
const BEHIND_MS = 250;
/** How often a claim looks for an entry that need not wait for another one. The next claim goes on. */
const LOOKS_MAX = 20;
const UNDER_WAY = { durationMs: null, statusCode: null, error: null, response: null };

export function createOutbox(db: Db, { now = () => new Date() }: { now?: () => Date } = {}) {
  const entries = outboxOf(db);

  /** Changes an entry that the caller has claimed, and ends its claim. @returns false if another process has claimed it since */
  async function settle({ entry }: Claim, $set: object, $unset: Record<string, true> = {}): Promise<boolean> {
    const claimed = { _id: entry._id, state: 'waiting', holder: entry.holder } as Filter<OutboxEntry>;
    return (await entries.updateOne(claimed, { $set, $unset: { holder: true, ...$unset } })).matchedCount === 1;
  }
  /** Of a mail only the last attempt is kept: the reply of a server may name the recipient, whose address is removed before the entry. */
  function attempted({ entry }: Claim, end: Partial<AttemptEnd>): object {
    const last = { ...entry.log.at(-1)!, ...end };
    if (entry.priority !== 'webhook') return { log: [last] };
    return { [`log.${entry.log.length - 1}`]: last, expiresAt: new Date(now().getTime() + DELIVERY_KEPT_MS) };
  }
  const untried = ({ entry }: Claim) => ({ attempts: entry.attempts - 1, log: entry.log.slice(0, -1) });
  /** The links of a mail that has ended may grant access. */
  const ended = (claim: Claim, state: EntryState, attempt: object) =>
    claim.entry.priority === 'webhook'
      ? settle(claim, { state, ...attempt })
      : settle(claim, { state, ...attempt, addressUntil: daysAfter(now(), ADDRESS_KEPT_DAYS) }, { data: true });

  return {
    /** Stores a mail that is due now. A mail whose id is stored already, in any state, changes nothing. */
    async enqueue(mail: NewMail) {
      await insertEntries(entries, [newMailEntry(mail, now())]);
    },

    /**
     * Claims the next entry, or returns null, and writes the log of its attempt. One atomic step: of several processes, one gets it. A
     * delivery waits while an earlier one of its scan and endpoint does.
     * @param leaseMs the time after which another claim may take the entry
     */
    claim: (filter: ClaimFilter, leaseMs: number) => claimNext(entries, filter, leaseMs, now),

    /** Records the end of the attempt, and of the entry. @returns false if another process has claimed it since */
    end: (claim: Claim, state: EntryState, attempt: Partial<AttemptEnd>) => ended(claim, state, attempted(claim, attempt)),
    /** Records the end of the attempt, and makes the entry due again. @returns as `end` */
    retry: (claim: Claim, at: Date, attempt: Partial<AttemptEnd>) => settle(claim, { dueAt: at, ...attempted(claim, attempt) }),
    /** Ends an entry that was not tried, without the log of this attempt. @returns as `end` */
    withdraw: (claim: Claim, state: EntryState) => ended(claim, state, untried(claim)),
    /** Makes the entry due as if this claim had not been made, also for `oldestDue`. @returns as `end` */
    release: (claim: Claim) => settle(claim, { dueAt: claim.dueAt, ...untried(claim) }),

    /** Returns the time since which the oldest unclaimed entry is due, or null if none is. */
    async oldestDue(priorities: readonly QueuedFields['priority'][]): Promise<Date | null> {
      const due = { state: 'waiting', priority: { $in: priorities }, dueAt: { $lte: now() }, holder: { $exists: false } };
      const [oldest] = await entries
        .find(due as Filter<OutboxEntry>)
        .sort({ dueAt: 1 })
        .limit(1)
        .toArray();
      return oldest?.dueAt ?? null;
    },

    /** Removes the address from mails that ended `ADDRESS_KEPT_DAYS` ago. @returns their number */
    async removeAddresses(): Promise<number> {
      const removed: Record<string, true> = { to: true, fairnessKey: true, addressUntil: true };
      return (await entries.updateMany({ addressUntil: { $lte: now() } }, { $unset: removed })).modifiedCount;
    },
  };
}
export type Outbox = ReturnType<typeof createOutbox>;

async function claimNext(entries: Collection<OutboxEntry>, filter: ClaimFilter, leaseMs: number, now: () => Date): Promise<Claim | null> {
  const { priority, onlyKeys, exceptKeys = [], exceptOrganisations = [] } = filter;
  const only = onlyKeys?.filter((one) => !exceptKeys.includes(one));
  const wanted: Filter<QueuedFields> = { state: 'waiting' };
  if (priority !== undefined) wanted.priority = priority;
  if (exceptKeys.length > 0) wanted.fairnessKey = { $nin: [...exceptKeys] };
  if (exceptOrganisations.length > 0) wanted.organisation = { $nin: [...exceptOrganisations] };
  for (let look = 0; look < LOOKS_MAX; look += 1) {
    const at = now();
    const due = { ...wanted, dueAt: { $lte: at } } as Filter<OutboxEntry>;
    if (only !== undefined) {
      const first = await firstOf(only, async (some) => (await entries.findOne({ ...due, fairnessKey: { $in: [...some] } })) !== null);
      if (first === null) return null;
      due.fairnessKey = first;
    }
    const [next] = await entries.find(due).sort({ dueAt: 1 }).limit(1).toArray();
    if (next === undefined) return null;
    // Another process may be faster.
    const same = { _id: next._id, state: 'waiting', dueAt: next.dueAt } as Filter<OutboxEntry>;
    const earlier = next.priority === 'webhook' ? await earlierOf(entries, next) : null;
    if (earlier !== null) {
      // While it is under way, `dueAt` is the end of its lease, and it ends sooner.
      const until = earlier.holder === undefined ? earlier.dueAt.getTime() : 0;
      await entries.updateOne(same, { $set: { dueAt: new Date(Math.max(until, at.getTime() + BEHIND_MS)) } });
      continue;
    }
    const claimed = { dueAt: new Date(now().getTime() + leaseMs), holder: randomUUID() };
    const attempt = { $inc: { attempts: 1 }, $push: { log: { at, ...UNDER_WAY } } };
    const entry = await entries.findOneAndUpdate(same, { $set: claimed, ...attempt }, { returnDocument: 'after' });
    if (entry !== null) return { entry, dueAt: next.dueAt };
  }
  return null;
}

/** Returns a delivery that is sent before this one. It is stored before, and nothing waits for it any more once it has ended. */
async function earlierOf(entries: Collection<OutboxEntry>, { fairnessKey, scan, order }: DeliveryEntry): Promise<OutboxEntry | null> {
  if (scan === null || order === 0) return null;
  return entries.findOne({ fairnessKey, scan, state: 'waiting', order: { $lt: order }, replay: { $exists: false } });
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
