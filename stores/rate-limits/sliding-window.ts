/** Sliding-window limits: the rules, the decision, and the pure functions that derive one from the other. */

export interface RateLimitRule {
  /** Name in `RateLimit-Policy`: `key`, `submissions`, `reports`, `key-creations`. */
  policy: string;
  /** What is counted: a key id or an organisation id. */
  subject: string;
  limit: number;
  windowSeconds: number;
}

/** The log that a rule counts in. */
export type RateLimitLog = Pick<RateLimitRule, 'policy' | 'subject'>;

/** A request that was counted, so that it can be taken back later, also by another process. */
export interface CountedRequest {
  hit: string;
  logs: readonly RateLimitLog[];
}

export interface RateLimitState {
  policy: string;
  limit: number;
  windowSeconds: number;
  remaining: number;
  /** Seconds until one more request is accepted, rounded up; 0 if one is accepted now. */
  resetSeconds: number;
}

export type RateLimitDecision =
  | { ok: true; states: RateLimitState[] }
  /** A request sent `retryAfterSeconds` later is accepted. */
  | { ok: false; reason: 'rate_limited'; states: RateLimitState[]; retryAfterSeconds: number };

export interface RateLimits {
  /**
   * Counts one request against every rule, in order. If one rule denies it, nothing is consumed from any of them.
   * @param options.hit names the request for a refund
   */
  admit(rules: readonly RateLimitRule[], options?: { hit?: string }): Promise<RateLimitDecision>;
  /** Takes back a request that was admitted as `hit`, because it was refused for another reason. Idempotent. */
  refund(logs: readonly RateLimitLog[], hit: string): Promise<void>;
}

/** The state of a rule's log of accepted requests at one moment. Times in milliseconds, of one clock. */
export interface LogReading {
  /** Whether the current request was counted. */
  taken: boolean;
  /** Requests in the window, including the one just counted. */
  used: number;
  /** The oldest of them; null if there is none. */
  oldest: number | null;
  now: number;
}

/**
 * The state of one rule. A request leaves the window one millisecond after the window's length: clocks count whole
 * milliseconds, so only then is the window certainly over.
 */
export function stateOf(rule: RateLimitRule, { used, oldest, now }: Omit<LogReading, 'taken'>): RateLimitState {
  const { policy, limit, windowSeconds } = rule;
  const remaining = Math.max(0, limit - used);
  const wait = remaining > 0 || oldest === null ? 0 : Math.max(1, Math.ceil((oldest + windowSeconds * 1000 + 1 - now) / 1000));
  return { policy, limit, windowSeconds, remaining, resetSeconds: wait };
}

/** The decision over all rules. A denied request may be repeated when the slowest rule accepts one again. */
export function decisionOf(allowed: boolean, states: RateLimitState[]): RateLimitDecision {
  if (allowed) return { ok: true, states };
  return { ok: false, reason: 'rate_limited', states, retryAfterSeconds: Math.max(...states.map((state) => state.resetSeconds)) };
}
