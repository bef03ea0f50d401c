/** Routes that issue, list and revoke API keys. */
import { Type, type Static } from 'typebox';
import type { Logger } from '../../platform/logger.ts';
import type { ApiKey, Keys } from '../../stores/accounts/keys.ts';
import type { Organisations } from '../../stores/accounts/organisations.ts';
import { callerOf } from '../plugins/auth.ts';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ApiError, ValidationFailure } from '../errors.ts';
import { nullable } from '../../core/schemas.ts';
import { answer, emptyAnswer, KEYED, LIMITED, reference, refusals } from '../responses.ts';

const NewKey = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 100, pattern: '\\S', description: 'The purpose of the key.' }),
    expires_at: Type.Optional(nullable(Type.String({ format: 'date-time', description: 'When the key expires. Null or absent: never.' }))),
  },
  { additionalProperties: false },
);

const shared = {
  id: Type.String({ format: 'uuid' }),
  name: Type.String(),
  last4: Type.String({ description: 'The last four characters of the key.' }),
  created_at: Type.String({ format: 'date-time' }),
  expires_at: nullable(Type.String({ format: 'date-time' })),
};

export const IssuedKey = Type.Object(
  {
    ...shared,
    key: Type.String({ pattern: '^svc_live_[0-9A-Za-z]{38}$', description: 'The full key. It is shown only in this response.' }),
  },
  { $id: 'IssuedKey', additionalProperties: false },
);

export const ListedKey = Type.Object(
  { ...shared, last_used_at: nullable(Type.String({ format: 'date-time', description: 'Accurate to the minute.' })) },
  { $id: 'ListedKey', additionalProperties: false },
);

const KeyList = Type.Object({ data: Type.Array(reference(ListedKey)) }, { additionalProperties: false });

const ISSUE_KEY = {
  operationId: 'issueKey',
  tags: ['Account'],
  summary: 'Create an API key',
  description: 'The key is shown once. To rotate a key: create a new one, deploy it, test it, then revoke the old one.',
  security: [{ apiKey: [] }],
  body: NewKey,
  response: {
    201: answer('The new key.', reference(IssuedKey), LIMITED),
    ...refusals([...KEYED, 'bad_request', 'payload_too_large', 'unsupported_media_type'], { limited: true, validated: true }),
  },
};

const LIST_KEYS = {
  operationId: 'listKeys',
  tags: ['Account'],
  summary: 'List the live API keys',
  security: [{ apiKey: [] }],
  response: {
    200: answer('The live keys, newest first, without their secrets.', KeyList, LIMITED),
    ...refusals(KEYED, { limited: true }),
  },
};

const REVOKE_KEY = {
  operationId: 'revokeKey',
  tags: ['Account'],
  summary: 'Revoke an API key',
  description: 'Takes effect immediately on every replica. A key may revoke itself.',
  security: [{ apiKey: [] }],
  params: Type.Object({ key_id: Type.String({ format: 'uuid' }) }),
  response: {
    204: emptyAnswer('The key is revoked.', LIMITED),
    ...refusals([...KEYED, 'key_not_found'], { limited: true, validated: true }),
  },
};

export interface KeyRouteDeps {
  keys: Pick<Keys, 'issue' | 'list' | 'revoke'>;
  organisations: Pick<Organisations, 'record'>;
  clock: () => Date;
  logger: Logger;
}

export const keyRoutes: FastifyPluginAsyncTypebox<KeyRouteDeps> = async (scope, { keys, organisations, clock, logger }) => {
  /** Writes the audit log. A failure is only logged: it must not hide a new key from its creator, who cannot read it again. */
  const record = async (request: string, caller: ReturnType<typeof callerOf>, action: string, subject: string): Promise<void> => {
    const entry = { organisation: caller.organisation.id, actor: `key:${caller.keyId}`, action, subject };
    await organisations.record(entry).catch((error: unknown) => logger.error({ request, ...entry, err: error }, 'audit entry lost'));
  };

  scope.post(
    '/v1/api-keys',
    {
      config: { limit: 'key-creations' },
      schema: ISSUE_KEY,
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const expiresAt = request.body.expires_at == null ? null : new Date(request.body.expires_at);
      if (expiresAt !== null && expiresAt <= clock())
        throw new ValidationFailure([{ loc: ['body', 'expires_at'], msg: 'expires_at must be in the future.', type: 'date.past' }]);
      const { key, secret } = await keys.issue({ organisation: caller.organisation.id, name: request.body.name.trim(), expiresAt });
      await record(request.id, caller, 'key.issue', key.id);
      return reply.code(201).send({ ...toShared(key), key: secret });
    },
  );

  scope.get(
    '/v1/api-keys',
    {
      schema: LIST_KEYS,
    },
    async (request) => ({ data: (await keys.list(callerOf(request).organisation.id)).map(toListed) }),
  );

  scope.delete(
    '/v1/api-keys/:key_id',
    {
      schema: REVOKE_KEY,
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const id = request.params.key_id.toLowerCase();
      if (!(await keys.revoke(caller.organisation.id, id))) throw new ApiError('key_not_found');
      await record(request.id, caller, 'key.revoke', id);
      return reply.code(204).send();
    },
  );
};

const toShared = (key: ApiKey) => ({
  id: key.id,
  name: key.name,
  last4: key.last4,
  created_at: key.createdAt.toISOString(),
  expires_at: key.expiresAt?.toISOString() ?? null,
});

const toListed = (key: ApiKey): Static<typeof ListedKey> => ({ ...toShared(key), last_used_at: key.lastUsedAt?.toISOString() ?? null });
