/**
 * A queue in a collection: a waiting document is claimed with a lease, and only the holder of the lease records what became of it.
 * While a document is claimed, `dueAt` is the end of the lease, so that another process can claim it afterwards.
 */
import { randomUUID } from 'node:crypto';
import type { Collection, Filter, UpdateFilter } from 'mongodb';

/** The fields that every queue has. */
export interface QueuedDocument {
  _id: string;
  state: string;
  attempts: number;
  dueAt: Date;
  /** Absent: not claimed. */
  holder?: string;
}

/** A document as it was before the claim. */
export interface Claim<D> {
  document: D;
  /** The id of this claim. Another claim of the same document has another one. */
  holder: string;
}

export function createLeasedQueue<D extends QueuedDocument>(collection: Collection<D>, now: () => Date) {
  // The driver's types do not know that a generic document has these fields.
  const queue = collection as unknown as Collection<QueuedDocument>;
  const due = (): Filter<QueuedDocument> => ({ state: 'waiting', dueAt: { $lte: now() } });
  return {
    /**
     * Claims the document that is due for the longest time, or returns null. One atomic step: of several processes, one gets it.
     * @param filter further conditions
     * @param update further changes of the claimed document
     */
    async claim(filter: Filter<D>, leaseMs: number, update: Pick<UpdateFilter<D>, '$push'> = {}): Promise<Claim<D> | null> {
      const holder = randomUUID();
      const document = await queue.findOneAndUpdate(
        { ...due(), ...(filter as Filter<QueuedDocument>) },
        {
          $set: { dueAt: new Date(now().getTime() + leaseMs), holder },
          $inc: { attempts: 1 },
          ...(update as UpdateFilter<QueuedDocument>),
        },
        { sort: { dueAt: 1 }, returnDocument: 'before' },
      );
      return document && { document: document as unknown as D, holder };
    },

    /** Changes a document that the caller has claimed. @returns false if another process has claimed it since */
    async change({ id, holder }: { id: string; holder: string }, update: UpdateFilter<D>): Promise<boolean> {
      const { matchedCount } = await queue.updateOne({ _id: id, state: 'waiting', holder }, update);
      return matchedCount === 1;
    },

    /** Returns the time since which the oldest unclaimed document is due, or null if none is. */
    async oldestDue(filter: Filter<D> = {}): Promise<Date | null> {
      const waiting = { ...due(), holder: { $exists: false }, ...(filter as Filter<QueuedDocument>) };
      const [oldest] = await queue.find(waiting).sort({ dueAt: 1 }).limit(1).toArray();
      return oldest?.dueAt ?? null;
    },
  };
}
