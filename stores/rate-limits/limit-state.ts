/** What a caller is told of the limits, from what their logs say: pure. */
import type { LimitDecision, LimitRule, LimitState } from './limits.ts';

/** What a log of accepted requests says at one moment. Times in milliseconds since 1970. */
export interface LogReading {
  /** Whether the request that asked was counted. */
  taken: boolean;
  /** Requests in the window, with the one just counted. */
  used: number;
  /** The oldest of them; null if there is none. */
  oldest: number | null;
  now: number;
}

/**
 * What a caller is told of one rule. A request leaves the window one millisecond after its end: clocks count whole
 * milliseconds, so only then is the window certainly over.
 */
export function stateOf(rule: LimitRule, { used, oldest, now }: Omit<LogReading, 'taken'>): LimitState {
  const { policy, limit, windowSeconds } = rule;
  const remaining = Math.max(0, limit - used);
  const wait = remaining > 0 || oldest === null ? 0 : Math.max(1, Math.ceil((oldest + windowSeconds * 1000 + 1 - now) / 1000));
  return { policy, limit, windowSeconds, remaining, resetSeconds: wait };
}

/** The answer over all rules: a request that was denied may come again when the slowest of them accepts one. */
export function admission(allowed: boolean, states: LimitState[]): LimitDecision {
  return { allowed, states, retryAfterSeconds: allowed ? null : Math.max(...states.map((state) => state.resetSeconds)) };
}
