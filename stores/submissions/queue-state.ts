/** The state of the queue for the API. The operator mirrors it to MongoDB, so that requests do not query the Kubernetes API. */
import type { Db } from 'mongodb';
import { retryRace } from '../mongo-retry.ts';

export interface QueueState {
  paused: boolean;
  /** Scans that are not terminal. */
  live: number;
  updatedAt: Date;
}

export interface QueueStates {
  /** Returns the last mirrored state. Before the first, the queue counts as open and empty. */
  read(): Promise<QueueState>;
  write(state: Omit<QueueState, 'updatedAt'>): Promise<void>;
}

/** Queue state in MongoDB: one document, because there is one queue. */
export function createQueueStates(db: Db): QueueStates {
  const queues = db.collection<QueueState & { _id: string }>('queues');
  const _id = 'default';
  return {
    async read() {
      const state = await queues.findOne({ _id }, { projection: { _id: 0 } });
      return state ?? { paused: false, live: 0, updatedAt: new Date(0) };
    },
    async write({ paused, live }) {
      await retryRace(() => queues.updateOne({ _id }, { $set: { paused, live }, $currentDate: { updatedAt: true } }, { upsert: true }));
    },
  };
}
