/** What the front door must know of the queue, mirrored by the operator so that no request asks the Kubernetes API. */

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
