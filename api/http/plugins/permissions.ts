/** Refuses callers without the permission of a route, and test keys that would change what others rely on. Register it after the plugin that authenticates the caller. */
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { isTest, mayCall, type Caller, type Permission } from '../../../core/accounts.ts';
import { ApiError } from '../errors.ts';
import { callerOf } from './auth.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What a caller of this route needs. Null: every caller of the scope may use it. */
    permission?: Permission | null;
    /** Whether test keys may use a route that changes something, because it lets them change only what is theirs. Default: false. */
    testKeys?: boolean;
  }
}

/** @throws ApiError `permission_denied`, whose message names the permission, if the caller lacks it */
export function requirePermission(caller: Pick<Caller, 'actor'>, permission: Permission): void {
  if (mayCall(caller, permission)) return;
  const message =
    caller.actor.kind === 'key'
      ? `The API key lacks the scope ${permission}; use a key that has it.`
      : `The role ${caller.actor.role} lacks the permission ${permission}; ask an owner of the organisation.`;
  throw new ApiError('permission_denied', { fields: { message, permission } });
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
const TEST_KEY = 'A test key cannot change this; use a key that is no test key.';

const permissions: FastifyPluginAsync = async (scope) => {
  scope.addHook('onRoute', ({ url, method, config }) => {
    // A route without a stated permission would be open to every role by mistake.
    if (config?.permission === undefined) throw new TypeError(`${String(method)} ${url} does not say which permission it requires`);
  });
  const check = async (request: FastifyRequest): Promise<void> => {
    const { permission, testKeys = false } = request.routeOptions.config;
    if (permission != null) requirePermission(callerOf(request), permission);
    // Null: a person without an organisation.
    if (!testKeys && !READS.has(request.method) && request.caller !== null && isTest(request.caller.actor))
      throw new ApiError('permission_denied', { fields: { message: TEST_KEY } });
  };
  scope.addHook('onRequest', check);
  // The role may have changed while the body was on its way (`checkCaller`).
  scope.addHook('preValidation', check);
};

export default fp(permissions, { name: 'permissions' });
