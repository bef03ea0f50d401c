/** Requires a live API key of an organisation that is not blocked, for every route of the scope that registers it. */
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Caller } from '../../core/accounts.ts';
import type { ApiStores } from '../dependencies.ts';
import { ApiError } from '../errors.ts';
import { createKeyCheck } from '../key-check.ts';
import { rateLimited } from './denials.ts';
import { annotate } from './request-log.ts';

/** Returns the caller of a request. @throws TypeError outside the authenticated scope */
export function callerOf(request: Pick<FastifyRequest, 'caller'>): Caller {
  if (request.caller === null) throw new TypeError('callerOf was called outside the authenticated scope');
  return request.caller;
}

/** Returns the id of the key that sent a request. @throws TypeError on a route that accepts sessions */
export function keyIdOf({ actor }: Caller): string {
  if (actor.kind !== 'key') throw new TypeError('keyIdOf was called for a request without an API key');
  return actor.keyId;
}

const auth: FastifyPluginAsync<Pick<ApiStores, 'keys'>> = async (scope, { keys }) => {
  const { check } = createKeyCheck({ keys });
  // Looked up on every request, so that a revocation takes effect immediately.
  scope.addHook('onRequest', async (request, reply) => {
    const secret = request.headers['x-api-key'];
    if (typeof secret !== 'string') throw new ApiError('invalid_api_key');
    const checked = await check(secret, request.ip);
    if (!checked.ok) throw checked.reason === 'invalid' ? new ApiError('invalid_api_key') : rateLimited(reply, checked);
    const { key, organisation } = checked.holder;
    request.caller = { organisation, actor: { kind: 'key', keyId: key.id, scopes: key.scopes } };
    annotate(request, { organisation: organisation.id, key: key.id });
    if (organisation.blocked) throw new ApiError('account_blocked');
    keys.touch(key.id);
  });
};

export default fp(auth, { name: 'auth', dependencies: ['request-log', 'sessions'] });
