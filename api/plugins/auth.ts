/** Requires a live API key of an organisation that is not blocked, for every route of the scope that registers it. */
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Caller } from '../../core/organisation.ts';
import type { ApiStores } from '../dependencies.ts';
import { ApiError } from '../errors.ts';
import { annotate } from './request-log.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated caller; null in scopes without this plugin. */
    caller: Caller | null;
  }
}

/** Returns the caller of a request. @throws TypeError outside the authenticated scope */
export function callerOf(request: Pick<FastifyRequest, 'caller'>): Caller {
  if (request.caller === null) throw new TypeError('callerOf was called outside the authenticated scope');
  return request.caller;
}

const auth: FastifyPluginAsync<Pick<ApiStores, 'keys' | 'organisations'>> = async (scope, { keys, organisations }) => {
  scope.decorateRequest('caller', null);
  // Looked up on every request, so that a revocation takes effect immediately.
  scope.addHook('onRequest', async (request) => {
    const secret = request.headers['x-api-key'];
    const key = typeof secret === 'string' ? await keys.recognise(secret) : null;
    const organisation = key && (await organisations.find(key.organisation));
    if (!key || !organisation) throw new ApiError('invalid_api_key');
    request.caller = { organisation, keyId: key.id };
    annotate(request, { organisation: organisation.id, key: key.id });
    if (organisation.blocked) throw new ApiError('account_blocked');
    keys.touch(key.id);
  });
};

export default fp(auth, { name: 'auth', dependencies: ['request-log'] });
