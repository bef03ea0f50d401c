/** The same sliding-window limits in one process's memory, for while the shared store is down. */
import { admission, stateOf } from './limit-state.ts';
import type { LimitRule, Limits } from './limits.ts';

/** Above so many subjects, those whose window is over are dropped before another is added. */
const TIDY_ABOVE = 10_000;

/** @param now milliseconds since 1970 */
export function createLocalLimits(now: () => number): Limits {
  const logs = new Map<string, { times: number[]; windowMs: number }>();

  /** The log of a rule, without what left the window. */
  function logOf(rule: LimitRule, at: number): number[] {
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
      return Promise.resolve(admission(allowed, states));
    },
  };
}
