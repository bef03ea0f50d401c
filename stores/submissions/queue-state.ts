/** The state of the queues for the API. The operator mirrors it to MongoDB, so that requests do not query the Kubernetes API. */
import type { Db } from 'mongodb';
import { DEFAULT_QUEUE } from '../../core/protocol/custom-resources.ts';
import { retryRace } from '../mongo-retry.ts';

/** What a submission depends on. */
export interface QueueState {
  /** Whether the default queue, which submissions use, is paused. */
  paused: boolean;
  /** Scans of all queues that are not terminal. */
  live: number;
  updatedAt: Date;
}

/** The scans that wait in a queue. */
export interface WaitingLine {
  /** Their number. */
  waiting: number;
  /** The IDs of those that are admitted next, in that order. */
  order: string[];
}

export interface QueueStates {
  /** Returns the last mirrored state. Before the first, the queue counts as open and empty. */
  read(): Promise<QueueState>;
  write(state: Omit<QueueState, 'updatedAt'>): Promise<void>;
  /** Returns the waiting scans of a queue; null if none was mirrored. */
  readLine(queue: string): Promise<WaitingLine | null>;
  /** A queue in which no scan waits needs no space. */
  writeLine(queue: string, line: WaitingLine): Promise<void>;
}

/** Queue states in MongoDB: one document for submissions, and one for each queue with waiting scans, because polls read those. */
export function createQueueStates(db: Db): QueueStates {
  const queues = db.collection<QueueState & { _id: string }>('queues');
  const lines = db.collection<WaitingLine & { _id: string }>('queue_lines');
  return {
    async read() {
      const state = await queues.findOne({ _id: DEFAULT_QUEUE }, { projection: { _id: 0 } });
      return state ?? { paused: false, live: 0, updatedAt: new Date(0) };
    },
    async write({ paused, live }) {
      const change = { $set: { paused, live }, $currentDate: { updatedAt: true } } as const;
      await retryRace(() => queues.updateOne({ _id: DEFAULT_QUEUE }, change, { upsert: true }));
    },
    readLine: (queue) => lines.findOne({ _id: queue }, { projection: { _id: 0 } }),
    async writeLine(queue, { waiting, order }) {
      if (waiting === 0) await lines.deleteOne({ _id: queue });
      else await retryRace(() => lines.updateOne({ _id: queue }, { $set: { waiting, order } }, { upsert: true }));
    },
  };
}
