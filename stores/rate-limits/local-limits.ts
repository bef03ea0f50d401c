/** The same sliding-window limits in the memory of one process, used while the shared store is down. */
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import { decisionOf, stateOf, type RateLimitLog, type RateLimitRule, type RateLimits } from './sliding-window.ts';

/** With more subjects than this, the one that was not used for the longest time is forgotten. */
const SUBJECTS_MAX = 10_000;

export function createLocalLimits(monotonic = () => performance.now()): RateLimits {
  const logs = new BoundedMap<{ at: number; hit: string | undefined }[]>({ max: SUBJECTS_MAX });
  const keyOf = (rule: RateLimitLog): string => `${rule.policy}/${rule.subject}`;

  /** The requests of a rule that are still inside its window. */
  function logOf(rule: RateLimitRule, at: number) {
    const key = keyOf(rule);
    const windowMs = rule.windowSeconds * 1000;
    const requests = (logs.get(key) ?? []).filter((request) => at - request.at <= windowMs);
    logs.set(key, requests);
    return requests;
  }

  return {
    admit(rules, { hit } = {}) {
      const at = monotonic();
      const counted = rules.map((rule) => ({ rule, requests: logOf(rule, at) }));
      const allowed = counted.every(({ rule, requests }) => requests.length < rule.limit);
      const states = counted.map(({ rule, requests }) => {
        if (allowed) requests.push({ at, hit });
        return stateOf(rule, { used: requests.length, oldest: requests[0]?.at ?? null, now: at });
      });
      return Promise.resolve(decisionOf(allowed, states));
    },

    async refund(rules, hit) {
      for (const rule of rules) {
        const requests = logs.get(keyOf(rule));
        if (requests !== null)
          logs.set(
            keyOf(rule),
            requests.filter((request) => request.hit !== hit),
          );
      }
    },
  };
}
