/** The same sliding-window limits in the memory of one process, used while the shared store is down. */
import { decisionOf, stateOf, type RateLimitRule, type RateLimits } from './sliding-window.ts';

/** With more subjects than this, expired ones are removed before another is added. */
const TIDY_ABOVE = 10_000;

/** @param now milliseconds since 1970 */
export function createLocalLimits(now: () => number): RateLimits {
  const logs = new Map<string, { times: number[]; windowMs: number }>();

  /** The requests of a rule that are still inside its window. */
  function logOf(rule: RateLimitRule, at: number): number[] {
    const key = `${rule.policy}/${rule.subject}`;
    const windowMs = rule.windowSeconds * 1000;
    const times = (logs.get(key)?.times ?? []).filter((time) => at - time <= windowMs);
    if (!logs.has(key) && logs.size >= TIDY_ABOVE) tidy(at);
    logs.set(key, { times, windowMs });
    return times;
  }

  function tidy(at: number): void {
    for (const [key, { times, windowMs }] of logs) if (times.every((time) => at - time > windowMs)) logs.delete(key);
  }

  return {
    admit(rules) {
      const at = now();
      const counted = rules.map((rule) => ({ rule, times: logOf(rule, at) }));
      const allowed = counted.every(({ rule, times }) => times.length < rule.limit);
      const states = counted.map(({ rule, times }) => {
        if (allowed) times.push(at);
        return stateOf(rule, { used: times.length, oldest: times[0] ?? null, now: at });
      });
      return Promise.resolve(decisionOf(allowed, states));
    },
  };
}
