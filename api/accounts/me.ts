/** The route that tells callers who they are, and what they may do. */
import { Type, type Static } from 'typebox';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { PERMISSIONS, permissionsOf, ROLES, type Caller } from '../../core/accounts.ts';
import { growing, nullable } from '../../core/schemas.ts';
import type { Settings } from '../dependencies.ts';
import { EXAMPLES } from '../http/examples.ts';
import { callerOf } from '../http/plugins/auth.ts';
import { answer, keyOrSession, LIMITED, reference, refusals, WITH_SESSION } from '../http/responses.ts';

const RateLimit = Type.Object({
  name: Type.String({
    description:
      'The name of the limit in the `RateLimit` headers. `key` counts the requests of one key or user, the others those of the organisation.',
  }),
  requests: Type.Integer({ minimum: 1 }),
  seconds: Type.Integer({ minimum: 1, description: 'The length of the window in which the requests are counted.' }),
});

export const Me = Type.Object(
  {
    organisation: Type.Object({ id: Type.String(), name: Type.String(), plan: Type.String() }),
    key: nullable(
      Type.Object(
        {
          id: Type.String({ format: 'uuid' }),
          expires_at: nullable(Type.String({ format: 'date-time', description: 'Null: it does not expire.' })),
          test: Type.Boolean({ description: 'Whether it is a test key.' }),
        },
        { description: 'The key of the request. Null for a session.' },
      ),
    ),
    user: nullable(Type.Object({ email: Type.String(), role: growing(ROLES) }, { description: 'The user of a session. Null for a key.' })),
    permissions: Type.Array(growing(PERMISSIONS), { description: 'What the caller may do. The scopes of keys have these names.' }),
    max_pages: Type.Integer({ minimum: 1, description: 'The largest `max_pages` of a submission.' }),
    rate_limits: Type.Array(RateLimit),
  },
  { $id: 'Me' },
);
type Me = Static<typeof Me>;

const GET_ME = {
  operationId: 'getMe',
  tags: ['Account'],
  summary: 'Get the caller',
  description:
    'Returns the organisation and the key or user of the request. Use it to check a key before a pipeline needs it. It needs no scope.',
  security: keyOrSession(),
  response: {
    200: answer('The caller.', reference(Me), LIMITED, { key: EXAMPLES.me }),
    ...refusals(WITH_SESSION.filter((code) => code !== 'permission_denied')),
  },
};

export const meRoutes: FastifyPluginAsyncTypebox = async (scope) => {
  scope.get('/v1/me', { config: { session: true, permission: null }, schema: GET_ME }, async (request) =>
    toMe(callerOf(request), scope.settings),
  );
};

function toMe({ organisation, actor }: Caller, { limits, maxPagesLimit }: Settings): Me {
  return {
    organisation: { id: organisation.id, name: organisation.displayName, plan: organisation.plan },
    key: actor.kind === 'key' ? { id: actor.keyId, expires_at: actor.expiresAt?.toISOString() ?? null, test: actor.test } : null,
    user: actor.kind === 'user' ? { email: actor.email, role: actor.role } : null,
    permissions: [...(actor.kind === 'key' ? actor.scopes : permissionsOf(actor.role))],
    max_pages: maxPagesLimit,
    rate_limits: Object.entries(limits).map(([name, { limit, windowSeconds }]) => ({ name, requests: limit, seconds: windowSeconds })),
  };
}
