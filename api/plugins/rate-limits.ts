/** Enforces the rate limits and reports them in response headers. Requires `auth` in the same scope. */
import type { FastifyPluginAsync } from 'fastify';
import fp from 'fastify-plugin';
import type { Caller } from '../../core/organisation.ts';
import type { RateLimitRule, RateLimits, RateLimitState } from '../../stores/rate-limits/sliding-window.ts';
import { ApiError } from '../errors.ts';
import type { LimitName, LimitSize } from '../rate-limits.ts';
import { callerOf } from './auth.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The organisation's limit that applies to this route in addition to the key's. */
    limit?: LimitName;
  }
}

type LimitSizes = Readonly<Record<LimitName, LimitSize>>;

/** The rules for one request: the key's limit, then the organisation's if the route has one. */
export function rulesFor(caller: Caller, limit: LimitName | undefined, sizes: LimitSizes): RateLimitRule[] {
  const rules: RateLimitRule[] = [{ policy: 'key', subject: caller.keyId, ...sizes.key }];
  if (limit !== undefined) rules.push({ policy: limit, subject: caller.organisation.id, ...sizes[limit] });
  return rules;
}

/**
 * `RateLimit-Policy` and `RateLimit` as structured fields (draft-ietf-httpapi-ratelimit-headers). `r` is the number of
 * remaining requests. `t` is the length of the sliding window, or, if `r` is 0, the seconds until the next request is
 * accepted.
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

const rateLimits: FastifyPluginAsync<{ rateLimits: RateLimits; sizes: LimitSizes }> = async (scope, deps) => {
  scope.addHook('onRequest', async (request, reply) => {
    const rules = rulesFor(callerOf(request), request.routeOptions.config.limit, deps.sizes);
    const decision = await deps.rateLimits.admit(rules);
    reply.headers(rateLimitHeaders(decision.states));
    if (!decision.ok) throw new ApiError('rate_limit_exceeded', { retryAfterSeconds: decision.retryAfterSeconds });
  });
};

export default fp(rateLimits, { name: 'rate-limits', dependencies: ['auth'] });
