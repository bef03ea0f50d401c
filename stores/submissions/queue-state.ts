/** The state of the queues for the API. The operator mirrors it to MongoDB, so that requests do not query the Kubernetes API. */
import type { Db } from 'mongodb';
import { DEFAULT_QUEUE, type BuiltInQueue } from '../../core/protocol/custom-resources.ts';
import { retryRace } from '../mongo-retry.ts';

/** What a submission to a built-in queue depends on. */
export interface QueueState {
  paused: boolean;
  /** Of the default queue: the live scans of all organisations in all queues. Of the public queue: the live public scans. */
  live: number;
  updatedAt: Date;
}

/** The scans that wait in a queue. */
export interface WaitingLine {
  waiting: number;
  /** The IDs of those that are admitted next, in that order. */
  order: string[];
  /** The number of scans that may run at once. Absent if no scan waits. */
  maxRunning?: number;
}

/** Queue states in MongoDB: one document for each built-in queue, and one for each queue with waiting scans, because polls read those. */
export function createQueueStates(db: Db) {
  const queues = db.collection<QueueState & { _id: string }>('queues');
  const lines = db.collection<WaitingLine & { _id: string }>('queue_lines');
  return {
    /** Returns the last mirrored state. Before the first, the queue counts as open and empty. @param queue default: the default queue */
    async read(queue: BuiltInQueue = DEFAULT_QUEUE): Promise<QueueState> {
      const state = await queues.findOne({ _id: queue }, { projection: { _id: 0 } });
      return state ?? { paused: false, live: 0, updatedAt: new Date(0) };
    },
    /** @param queue default: the default queue */
    async write({ paused, live }: Omit<QueueState, 'updatedAt'>, queue: BuiltInQueue = DEFAULT_QUEUE) {
      const change = { $set: { paused, live }, $currentDate: { updatedAt: true } } as const;
      await retryRace(() => queues.updateOne({ _id: queue }, change, { upsert: true }));
    },
    /** Returns the waiting scans of a queue; null if none was mirrored. */
    readLine: (queue: string): Promise<WaitingLine | null> => lines.findOne({ _id: queue }, { projection: { _id: 0 } }),
    /** A queue in which no scan waits needs no space. */
    async writeLine(queue: string, line: WaitingLine) {
      if (line.waiting === 0) await lines.deleteOne({ _id: queue });
      else await retryRace(() => lines.updateOne({ _id: queue }, { $set: line }, { upsert: true }));
    },
  };
}
export type QueueStates = ReturnType<typeof createQueueStates>;
