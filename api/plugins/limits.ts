/** Counts requests against their limits, and tells of these in headers. */
import type { Caller } from '../../core/organisation.ts';
import type { RateLimitRule, RateLimits, RateLimitState } from '../../stores/rate-limits/sliding-window.ts';
import { callerOf, type Api } from '../api.ts';
import { ApiError } from '../errors.ts';
import type { LimitName, LimitSize } from '../rate-limits.ts';

/** Counts every request of `scope`, in which a key is required, against its key's limit and then its route's. */
export function limitRequests(scope: Api, limits: RateLimits, sizes: Readonly<Record<LimitName, LimitSize>>): void {
  scope.addHook('onRequest', async (request, reply) => {
    const decision = await limits.admit(rulesFor(callerOf(request), request.routeOptions.config.limit, sizes));
    reply.headers(rateLimitHeaders(decision.states));
    if (!decision.ok) throw new ApiError('rate_limit_exceeded', { retryAfterSeconds: decision.retryAfterSeconds });
  });
}

/** The key's limit first, then the organisation's, if the route has one. */
export function rulesFor(caller: Caller, limit: LimitName | undefined, sizes: Readonly<Record<LimitName, LimitSize>>): RateLimitRule[] {
  const rules: RateLimitRule[] = [{ policy: 'key', subject: caller.keyId, ...sizes.key }];
  if (limit !== undefined) rules.push({ policy: limit, subject: caller.organisation.id, ...sizes[limit] });
  return rules;
}

/**
 * `RateLimit-Policy` and `RateLimit` as structured fields (draft-ietf-httpapi-ratelimit-headers). `t` is the time in
 * which the `r` remaining requests may be used: the whole window of a sliding limit, and where none is left the seconds
 * until the next one is.
 */
export function rateLimitHeaders(states: readonly RateLimitState[]): Record<string, string> {
  return {
    'RateLimit-Policy': states.map(({ policy, limit, windowSeconds }) => `"${policy}";q=${limit};w=${windowSeconds}`).join(', '),
    RateLimit: states
      .map(
        ({ policy, remaining, resetSeconds, windowSeconds }) =>
          `"${policy}";r=${remaining};t=${remaining > 0 ? windowSeconds : resetSeconds}`,
      )
      .join(', '),
  };
}
