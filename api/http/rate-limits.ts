/** The limits of the contract, and of the pages of the dashboard. */

export interface LimitSize {
  limit: number;
  windowSeconds: number;
}

/**
 * Requests per sliding window. `key` counts all requests of one key, `pages` those of a signed-in user on one replica, with pictures; the
 * others count requests of one organisation.
 */
export const LIMITS = {
  key: { limit: 60, windowSeconds: 60 },
  submissions: { limit: 60, windowSeconds: 60 },
  reports: { limit: 300, windowSeconds: 60 },
  'key-creations': { limit: 20, windowSeconds: 60 },
  pages: { limit: 1_200, windowSeconds: 60 },
} as const satisfies Record<string, LimitSize>;

export type LimitName = keyof typeof LIMITS;
