/** Enforces the rate limits and reports them in response headers. Requires `denials` and `auth` in the same scope. */
import type { FastifyPluginAsync } from 'fastify';
import fp from 'fastify-plugin';
import type { Actor, Caller } from '../../../core/accounts.ts';
import type { RateLimitRule } from '../../../stores/rate-limits.ts';
import type { LimitName, LimitSize } from '../rate-limits.ts';
import { callerOf } from './auth.ts';
import { rateLimited, rateLimitHeaders } from './denials.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The organisation's limit that applies to this route in addition to the key's. */
    limit?: LimitName;
  }
}

type LimitSizes = Readonly<Record<LimitName, LimitSize>>;

/** Whose requests the limit per key counts: a key's, or those of a user. */
const subjectOf = (actor: Actor): string => (actor.kind === 'key' ? actor.keyId : `user:${actor.email}`);

/** The rules for one request: the key's limit, then the organisation's if the route has one. */
export function rulesFor(caller: Caller, limit: LimitName | undefined, sizes: LimitSizes): RateLimitRule[] {
  const rules: RateLimitRule[] = [{ policy: 'key', subject: subjectOf(caller.actor), ...sizes.key }];
  if (limit !== undefined) rules.push({ policy: limit, subject: caller.organisation.id, ...sizes[limit] });
  return rules;
}

const rateLimits: FastifyPluginAsync = async (scope) => {
  scope.addHook('onRequest', async (request, reply) => {
    const rules = rulesFor(callerOf(request), request.routeOptions.config.limit, scope.settings.limits);
    const remembered = scope.denials.ofRules(rules);
    if (remembered !== null) throw rateLimited(reply, remembered);
    const decision = await scope.stores.rateLimits.admit(rules);
    if (!decision.ok) {
      scope.denials.remember(request, rules, decision);
      throw rateLimited(reply, decision);
    }
    reply.headers(rateLimitHeaders(decision.states));
  });
};

export default fp(rateLimits, { name: 'rate-limits', dependencies: ['auth', 'denials'] });
