/** Settings → API keys: the list, creating a key, and revoking one. */
import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { PIPELINE_SCOPES, type KeyScope } from '../../../core/accounts.ts';
import { readDateTime } from '../../../core/date-time.ts';
import { KEY_STATUSES, type KeyStatus } from '../../../stores/accounts/keys.ts';
import type { RateLimits } from '../../../stores/rate-limits.ts';
import { ApiError, ERRORS, ValidationFailure } from '../../http/errors.ts';
import { askedBy, createKeyManagement, type KeyManagementDeps } from '../../accounts/key-management.ts';
import { decodeCursor, pageOf } from '../../http/pagination.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import { LIMITS } from '../../http/rate-limits.ts';
import { NewKey } from '../../accounts/api-keys.ts';
import { storesOf } from '../../accounts/scoped-stores.ts';
import { compileValidator } from '../../http/validation.ts';
import type { FormError } from '../../web/components/index.ts';
import { formOf } from '../../web/html-scope.ts';
import { actorNames } from '../actor-names.ts';
import { formIdOf, idOfForm } from '../form-ids.ts';
import { formErrors } from '../forms.ts';
import { alreadyCreatedPage, createKeyPage, KEY_FIELDS, newKeyPage, type TypedKey } from './create-page.ts';
import { keyListPage, KEYS_PATH } from './list-page.ts';
import { revokeKeyPage } from './revoke-page.ts';

export interface KeyPagesDeps extends KeyManagementDeps {
  rateLimits: Pick<RateLimits, 'admit'>;
}

const PER_PAGE = 25;
const PERMISSION = { config: { permission: 'keys:write' } } as const;

export const keyPages: FastifyPluginAsync<KeyPagesDeps> = async (scope, deps) => {
  const management = createKeyManagement(deps);

  scope.get(KEYS_PATH, PERMISSION, async (request, reply) => {
    const { status: wanted, cursor, revoked } = request.query as Record<string, string | undefined>;
    const status = KEY_STATUSES.find((one) => one === wanted) as KeyStatus | undefined;
    const found = await storesOf(request).keys.list({ status, after: decodeCursor(cursor), limit: PER_PAGE + 1 });
    const { items, nextCursor } = pageOf(found, PER_PAGE, (key) => ({ at: key.createdAt, id: key.id }));
    const message = revoked === undefined ? null : 'The key was revoked.';
    const first = cursor === undefined;
    const names = await actorNames(storesOf(request), items, ({ createdBy }) => createdBy);
    return reply.page(keyListPage({ request, keys: items, names, status, first, nextCursor, message, now: deps.now() }));
  });

  scope.get(`${KEYS_PATH}/new`, PERMISSION, async (request, reply) => {
    const typed: TypedKey = { name: '', expires: '', scopes: PIPELINE_SCOPES, test: false, formId: randomUUID() };
    return reply.page(createKeyPage({ request, typed, errors: [] }));
  });

  scope.post(`${KEYS_PATH}/new`, PERMISSION, async (request, reply) => {
    const typed = typedIn(request);
    const refuse = (errors: readonly FormError[], status: number) => reply.page(createKeyPage({ request, typed, errors }), { status });
    const checked = checkForm(typed);
    if (!checked.ok) return refuse(checked.errors, 422);
    const wait = await mustWait(request, deps.rateLimits);
    if (wait !== null) {
      reply.header('Retry-After', wait);
      return refuse([{ field: null, text: ERRORS.rate_limit_exceeded.message }], 429);
    }
    try {
      const issued = await management.issue(askedBy(request), { ...checked.key, id: idOfForm(request, typed.formId) });
      if (issued.ok) return reply.page(newKeyPage({ request, ...issued }), { status: 201 });
      if (issued.reason === 'already_issued') return reply.page(alreadyCreatedPage(request));
      return refuse([{ field: null, text: ERRORS[issued.reason].message }], ERRORS[issued.reason].status);
    } catch (error) {
      if (error instanceof ValidationFailure) return refuse(formErrors(error.items, KEY_FIELDS), 422);
      throw error;
    }
  });

  scope.get<{ Params: { key_id: string } }>(`${KEYS_PATH}/:key_id/revoke`, PERMISSION, async (request, reply) => {
    const key = await storesOf(request).keys.find(request.params.key_id);
    if (key === null) throw new ApiError('key_not_found');
    const names = await actorNames(storesOf(request), [key], ({ createdBy }) => createdBy);
    return reply.page(revokeKeyPage({ request, key, names, now: deps.now() }));
  });

  scope.post<{ Params: { key_id: string } }>(`${KEYS_PATH}/:key_id/revoke`, PERMISSION, async (request, reply) =>
    revoke(request, reply, () => management.revoke(askedBy(request), request.params.key_id)),
  );
};

/** A key that was revoked meanwhile is in the state that the person wants. */
async function revoke(request: FastifyRequest<{ Params: { key_id: string } }>, reply: FastifyReply, run: () => Promise<void>) {
  try {
    await run();
  } catch (error) {
    const gone = error instanceof ApiError && error.code === 'key_not_found';
    if (!gone || (await storesOf(request).keys.find(request.params.key_id)) === null) throw error;
  }
  return reply.redirect(`${KEYS_PATH}?revoked`, 303);
}

function typedIn(request: FastifyRequest): TypedKey {
  const form = formOf(request.body);
  return {
    name: form.text('name'),
    expires: form.text('expires_at'),
    scopes: form.all('scopes'),
    test: form.text('test') === 'yes',
    formId: formIdOf(form),
  };
}

type Checked =
  { ok: true; key: { name: string; expiresAt: Date | null; scopes: KeyScope[]; test: boolean } } | { ok: false; errors: FormError[] };

const validate = compileValidator({ schema: NewKey, method: 'POST', url: KEYS_PATH, httpPart: 'body' });

/** Checks a form by the schema of the API, so that the errors are the same. */
function checkForm({ name, expires, scopes, test }: TypedKey): Checked {
  const at = expires === '' ? null : `${expires}T00:00:00Z`;
  const { error } = validate({ name, expires_at: at, scopes }) as { error?: unknown };
  if (error instanceof ValidationFailure) return { ok: false, errors: formErrors(error.items, KEY_FIELDS) };
  return { ok: true, key: { name, expiresAt: at === null ? null : readDateTime(at), scopes: scopes as KeyScope[], test } };
}

/** Seconds until the organisation may create a key again; null if it may. The API has the same limit. */
async function mustWait(request: FastifyRequest, rateLimits: Pick<RateLimits, 'admit'>): Promise<number | null> {
  const policy = 'key-creations';
  const decision = await rateLimits.admit([{ policy, subject: callerOf(request).organisation.id, ...LIMITS[policy] }]);
  return decision.ok ? null : decision.retryAfterSeconds;
}
