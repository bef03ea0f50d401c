/** What the front door must know of the queue, mirrored by the operator so that no request asks the Kubernetes API. */

import type { Db } from 'mongodb';
import { retryRace } from '../mongo-retry.ts';

export interface QueueState {
  paused: boolean;
  /** Scans that are not terminal. */
  live: number;
  updatedAt: Date;
}

export interface QueueStates {
  /** The last mirrored state; before the first, an open and empty queue. */
  read(): Promise<QueueState>;
  write(state: Omit<QueueState, 'updatedAt'>): Promise<void>;
}

/** The queue's mirror: one document, for there is one queue. */
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
