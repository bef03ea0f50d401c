/** Refuses callers without the permission of a route. Register it after the plugin that authenticates the caller. */
import type { FastifyPluginAsync } from 'fastify';
import fp from 'fastify-plugin';
import { mayCall, type Permission } from '../../core/accounts.ts';
import { ApiError } from '../errors.ts';
import { callerOf } from './auth.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What a caller of this route needs. Null: every caller of the scope may use it. */
    permission?: Permission | null;
  }
}

const permissions: FastifyPluginAsync = async (scope) => {
  scope.addHook('onRoute', ({ url, method, config }) => {
    // A route without a stated permission would be open to every role by mistake.
    if (config?.permission === undefined) throw new TypeError(`${String(method)} ${url} does not say which permission it requires`);
  });
  scope.addHook('onRequest', async (request) => {
    const { permission } = request.routeOptions.config;
    if (permission != null && !mayCall(callerOf(request), permission)) throw new ApiError('permission_denied');
  });
};

export default fp(permissions, { name: 'permissions' });
