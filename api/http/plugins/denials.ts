/** Refuses requests that a rate limit denied a moment ago, without a command to the database. Register it before `auth`. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';
import { hashOf, isWellFormed } from '../../../stores/accounts/key-format.ts';
import type { RateLimitDecision, RateLimitRule, RateLimitState } from '../../../stores/rate-limits.ts';
import { ApiError } from '../errors.ts';

type Denied = Extract<RateLimitDecision, { ok: false }>;

declare module 'fastify' {
  interface FastifyInstance {
    denials: Denials;
  }
}

/** Entries in memory. Further ones replace the oldest, whose next request asks the database again. */
const REMEMBERED_MAX = 20_000;
/**
 * In milliseconds. A decision may be outdated at once, because a request that another rule denies is counted for a moment. The one
 * that it displaced must not be denied for a whole window.
 */
const ASK_AGAIN_MS = 5_000;

/** Denied requests, until they may be repeated, but for a few seconds at most. */
export function createDenials(monotonic: () => number = () => performance.now()) {
  const denied = new BoundedMap<{ state: RateLimitState; until: number }>({ max: REMEMBERED_MAX, monotonic });

  function set(name: string, state: RateLimitState): void {
    const forMs = state.resetSeconds * 1000;
    denied.set(name, { state, until: monotonic() + forMs }, Math.min(forMs, ASK_AGAIN_MS));
  }

  function find(names: readonly string[]): Denied | null {
    const states = names.flatMap((name) => {
      const entry = denied.get(name);
      return entry === null ? [] : [{ ...entry.state, resetSeconds: Math.ceil((entry.until - monotonic()) / 1000) }];
    });
    if (states.length === 0) return null;
    return { ok: false, reason: 'rate_limited', states, retryAfterSeconds: Math.max(...states.map((state) => state.resetSeconds)) };
  }

  return {
    /** The decision about a request with this key, before it is looked up; null if nothing is known. */
    ofKey(request: FastifyRequest): Denied | null {
      const key = nameOfKey(request);
      if (key === null) return null;
      const { limit } = request.routeOptions.config;
      return find([`${key}/key`, ...(limit === undefined ? [] : [`${key}/${limit}`])]);
    },
    /** The decision about a request with these rules; null if nothing is known. */
    ofRules: (rules: readonly RateLimitRule[]) => find(rules.map(nameOfRule)),
    remember(request: FastifyRequest, rules: readonly RateLimitRule[], { states }: Denied) {
      const key = nameOfKey(request);
      for (const [index, state] of states.entries()) {
        if (state.resetSeconds === 0) continue;
        set(nameOfRule(rules[index]!), state);
        if (key !== null) set(`${key}/${state.policy}`, state);
      }
    },
  };
}
export type Denials = ReturnType<typeof createDenials>;

const nameOfRule = ({ policy, subject }: RateLimitRule): string => `rule/${policy}/${subject}`;

function nameOfKey({ headers }: FastifyRequest): string | null {
  const secret = headers['x-api-key'];
  return typeof secret === 'string' && isWellFormed(secret) ? hashOf(secret) : null;
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

/** The error of a denied request. Adds the headers of the limits to the reply. */
export function rateLimited(reply: FastifyReply, { states, retryAfterSeconds }: Pick<Denied, 'states' | 'retryAfterSeconds'>): ApiError {
  reply.headers(rateLimitHeaders(states));
  return new ApiError('rate_limit_exceeded', { retryAfterSeconds });
}

const denials: FastifyPluginAsync = async (scope) => {
  const remembered = createDenials();
  scope.decorate('denials', remembered);
  scope.addHook('onRequest', async (request, reply) => {
    const denied = remembered.ofKey(request);
    if (denied !== null) throw rateLimited(reply, denied);
  });
};

export default fp(denials, { name: 'denials', dependencies: ['request-log'] });
