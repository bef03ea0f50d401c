/** Sliding-window limits that hold over any number of replicas: a sliding log in one document a policy and subject, one atomic update by the store's clock. */

export interface LimitRule {
  /** Name in `RateLimit-Policy`: `key`, `submissions`, `reports`, `key-creations`. */
  policy: string;
  /** Whom it counts: a key id, an organisation id. */
  subject: string;
  limit: number;
  windowSeconds: number;
}

export interface LimitState {
  policy: string;
  limit: number;
  windowSeconds: number;
  remaining: number;
  /** Seconds until one more request is accepted (0 where one is now). Rounded up. */
  resetSeconds: number;
}

export interface Admission {
  allowed: boolean;
  states: LimitState[];
  /** Set where not allowed: a request sent so many seconds later is accepted. */
  retryAfterSeconds: number | null;
}

export interface Limits {
  /** Counts one request against every rule, in order; where one denies, those before it are given back and nothing is consumed. */
  admit(rules: readonly LimitRule[]): Promise<Admission>;
}
