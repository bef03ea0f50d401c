/** The four limits of the contract. */

export interface LimitSize {
  limit: number;
  windowSeconds: number;
}

/** Requests in any window of so many seconds. `key` counts every request of a key, the others those of an organisation. */
export const LIMITS = {
  key: { limit: 60, windowSeconds: 60 },
  submissions: { limit: 60, windowSeconds: 60 },
  reports: { limit: 300, windowSeconds: 60 },
  'key-creations': { limit: 20, windowSeconds: 60 },
} as const satisfies Record<string, LimitSize>;
export type LimitName = keyof typeof LIMITS;
