/** Routes that issue, list and revoke API keys. */
import { Type, type Static } from 'typebox';
import { KEY_NAME_MAX, KEY_SCOPES, ROLES } from '../../core/accounts.ts';
import { LIVE_KEYS_MAX } from '../../stores/accounts/key-slots.ts';
import { KEY_STATUSES, statusOf, type ApiKey } from '../../stores/accounts/keys.ts';
import { storesOf } from './scoped-stores.ts';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ApiError } from '../http/errors.ts';
import { alreadyCreated } from '../http/plugins/idempotency.ts';
import { callerOf } from '../http/plugins/auth.ts';
import { askedBy, createKeyManagement } from './key-management.ts';
import { tellOfKey } from './owner-notices.ts';
import { isReauthenticated } from './sessions/plugin.ts';
import { growing, nullable, oneOf } from '../../core/schemas.ts';
import { readDateTime } from '../../core/date-time.ts';
import { decodeCursor, NEXT_CURSOR, pageOf, pageQuery } from '../http/pagination.ts';
import { EXAMPLES } from '../http/examples.ts';
import {
  answer,
  created,
  emptyAnswer,
  keyOrSession,
  LIMITED,
  reference,
  refusals,
  CHANGES,
  WITH_BODY,
  WITH_SESSION,
} from '../http/responses.ts';

export const NewKey = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: KEY_NAME_MAX, pattern: '\\S', description: 'The purpose of the key.' }),
    expires_at: Type.Optional(
      nullable(
        Type.String({
          format: 'date-time',
          description:
            'When the key expires. Null or absent: never, or when the API key of the request expires. A key cannot create a key that expires later than itself.',
        }),
      ),
    ),
    scopes: Type.Optional(
      Type.Array(oneOf(KEY_SCOPES), {
        minItems: 1,
        uniqueItems: true,
        description:
          'What requests with the key may do. Absent: all that the sender of the request has. A key cannot create a key with a scope that it lacks.',
      }),
    ),
    test: Type.Optional(
      Type.Boolean({
        description:
          'True: a test key (`svc_test_…`). It submits only scans of the demo site and of loopback addresses that the installation allows, and ' +
          'they cost nothing. Absent: a test key if the key of the request is one. A test key creates, revokes and cancels nothing else.',
      }),
    ),
  },
  {
    title: 'NewKey',
    additionalProperties: false,
    examples: [{ name: 'Pipeline', expires_at: '2030-01-31T12:00:00Z', scopes: ['scans:read', 'scans:write'] }],
  },
);

const shared = {
  id: Type.String({ format: 'uuid' }),
  name: Type.String(),
  last4: Type.String({ description: 'The last four characters of the key.' }),
  scopes: Type.Array(growing(KEY_SCOPES), { description: 'What requests with the key may do.' }),
  test: Type.Boolean({ description: 'Whether it is a test key.' }),
  created_at: Type.String({ format: 'date-time' }),
  created_by: Type.String({
    description: 'An e-mail address, `key:` and the ID of the API key that created it, or `curbcut-admin`.',
  }),
  expires_at: nullable(Type.String({ format: 'date-time' })),
};

export const IssuedKey = Type.Object(
  {
    ...shared,
    key: Type.String({ pattern: '^svc_(live|test)_[0-9A-Za-z]{38}$', description: 'The full key. It is shown only in this response.' }),
  },
  { $id: 'IssuedKey' },
);

export const ListedKey = Type.Object(
  {
    ...shared,
    status: growing(KEY_STATUSES),
    limited_by: nullable(
      Type.Object(
        {
          email: Type.String(),
          role: growing(ROLES),
          left: Type.Boolean({ description: 'Whether the person has left the organisation. `role` is then the last one.' }),
        },
        {
          description:
            'The person who created or adopted the key, or the first of a chain of keys: it can do no more than the role. Null: nothing limits it.',
        },
      ),
    ),
    last_used_at: nullable(Type.String({ format: 'date-time', description: 'Accurate to the minute.' })),
  },
  { $id: 'ListedKey' },
);

export const KeyList = Type.Object({ data: Type.Array(reference(ListedKey)), next_cursor: NEXT_CURSOR }, { $id: 'KeyList' });

const ISSUE_KEY = {
  operationId: 'issueKey',
  tags: ['Account'],
  summary: 'Create an API key',
  description:
    'The key is shown once: only its SHA-256 is stored. To rotate a key: create a new one, deploy it, test it, then revoke the old one. ' +
    `An organisation can have ${LIVE_KEYS_MAX} live keys.`,
  security: keyOrSession('keys:write'),
  body: NewKey,
  response: {
    201: created('The new key.', reference(IssuedKey), { issued: EXAMPLES.issuedKey }),
    ...refusals([...CHANGES, ...WITH_BODY, 'proof_required', 'too_many_keys']),
  },
};

const LIST_KEYS = {
  operationId: 'listKeys',
  tags: ['Account'],
  summary: 'List the API keys',
  security: keyOrSession('keys:write'),
  querystring: pageQuery({ status: Type.Optional(oneOf(KEY_STATUSES, { description: 'Only keys with this status.' })) }),
  response: {
    200: answer('The keys, newest first, without their secrets.', reference(KeyList), LIMITED, { keys: EXAMPLES.keys }),
    ...refusals(WITH_SESSION),
  },
};

const KeyPath = Type.Object({ key_id: Type.String({ format: 'uuid' }) });

const GET_KEY = {
  operationId: 'getKey',
  tags: ['Account'],
  summary: 'Get an API key',
  description: 'Also one that has expired or was revoked.',
  security: keyOrSession('keys:write'),
  params: KeyPath,
  response: {
    200: answer('The key, without its secret.', reference(ListedKey), LIMITED, { key: EXAMPLES.keys.data[0] }),
    ...refusals([...WITH_SESSION, 'key_not_found']),
  },
};

const REVOKE_KEY = {
  operationId: 'revokeKey',
  tags: ['Account'],
  summary: 'Revoke an API key',
  description: 'Takes effect immediately on every replica. A key may revoke itself.',
  security: keyOrSession('keys:write'),
  params: KeyPath,
  response: {
    204: emptyAnswer('The key is revoked.', LIMITED),
    ...refusals([...CHANGES, 'key_not_found']),
  },
};

export const keyRoutes: FastifyPluginAsyncTypebox = async (scope) => {
  const { now, logger } = scope;
  const management = createKeyManagement({ now, logger });

  scope.post(
    '/v1/api-keys',
    {
      config: { session: true, permission: 'keys:write', limit: 'key-creations', idempotency: 'secret', testKeys: true },
      schema: ISSUE_KEY,
    },
    async (request, reply) => {
      const { actor } = callerOf(request);
      if (actor.kind === 'user' && !(await isReauthenticated(request))) throw new ApiError('proof_required');
      const { name, expires_at: expires, scopes, test } = request.body;
      const expiresAt = expires == null ? null : readDateTime(expires);
      const id = request.idempotent?.resourceId;
      const issued = await management.issue(askedBy(request), { name, expiresAt, scopes, test, id });
      if (!issued.ok) throw issued.reason === 'already_issued' ? alreadyCreated(id!) : new ApiError(issued.reason);
      await tellOfKey(request, 'key_created', issued.key);
      return reply.code(201).send({ ...toShared(issued.key), key: issued.secret });
    },
  );

  scope.get(
    '/v1/api-keys',
    {
      config: { session: true, permission: 'keys:write' },
      schema: LIST_KEYS,
    },
    async (request) => {
      const { limit, cursor, status } = request.query;
      const found = await storesOf(request).keys.list({ status, after: decodeCursor(cursor), limit: limit + 1 });
      const { items, nextCursor } = pageOf(found, limit, (key) => ({ at: key.createdAt, id: key.id }));
      return { data: items.map((key) => toListed(key, now())), next_cursor: nextCursor };
    },
  );

  scope.get('/v1/api-keys/:key_id', { config: { session: true, permission: 'keys:write' }, schema: GET_KEY }, async (request) => {
    const key = await storesOf(request).keys.find(request.params.key_id.toLowerCase());
    if (key === null) throw new ApiError('key_not_found');
    return toListed(key, now());
  });

  scope.delete(
    '/v1/api-keys/:key_id',
    {
      config: { session: true, permission: 'keys:write', testKeys: true },
      schema: REVOKE_KEY,
    },
    async (request, reply) => {
      await management.revoke(askedBy(request), request.params.key_id);
      return reply.code(204).send();
    },
  );
};

const toShared = (key: ApiKey) => ({
  id: key.id,
  name: key.name,
  last4: key.last4,
  scopes: [...key.scopes],
  test: key.test,
  created_at: key.createdAt.toISOString(),
  created_by: key.createdBy,
  expires_at: key.expiresAt?.toISOString() ?? null,
});

const toListed = (key: ApiKey, now: Date): Static<typeof ListedKey> => ({
  ...toShared(key),
  status: statusOf(key, now),
  limited_by: key.limit && { email: key.rootCreator, ...key.limit },
  last_used_at: key.lastUsedAt?.toISOString() ?? null,
});
