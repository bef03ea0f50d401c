/** The same sliding-window limits in the memory of one process, used while the shared store is down. */
import { decisionOf, stateOf, type RateLimitRule, type RateLimits } from './sliding-window.ts';

/** With more subjects than this, the one that was not used for the longest time is forgotten. */
const SUBJECTS_MAX = 10_000;

/** @param now milliseconds since 1970 */
export function createLocalLimits(now: () => number): RateLimits {
  /** The least recently used subject is the first. */
  const logs = new Map<string, number[]>();

  /** The requests of a rule that are still inside its window. */
  function logOf(rule: RateLimitRule, at: number): number[] {
    const key = `${rule.policy}/${rule.subject}`;
    const windowMs = rule.windowSeconds * 1000;
    const times = (logs.get(key) ?? []).filter((time) => at - time <= windowMs);
    logs.delete(key);
    for (const oldest of logs.keys()) {
      if (logs.size < SUBJECTS_MAX) break;
      logs.delete(oldest);
    }
    logs.set(key, times);
    return times;
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
