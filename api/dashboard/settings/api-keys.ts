/** Settings → API keys: the list, creating a key, and revoking one. */
import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { KEY_NAME_MAX, KEY_SCOPES, type KeyScope, PIPELINE_SCOPES, SCOPE_MEANINGS } from '../../../core/accounts.ts';
import { readDateTime } from '../../../core/date-time.ts';
import { type ApiKey, KEY_STATUSES, type KeyStatus } from '../../../stores/accounts/keys.ts';
import type { RateLimits } from '../../../stores/rate-limits.ts';
import { ApiError, ERRORS, ValidationFailure } from '../../http/errors.ts';
import { askedBy, createKeyManagement, type KeyManagementDeps } from '../../accounts/key-management.ts';
import { decodeCursor, pageOf } from '../../http/pagination.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import { LIMITS } from '../../http/rate-limits.ts';
import { NewKey } from '../../accounts/api-keys.ts';
import { storesOf } from '../../accounts/scoped-stores.ts';
import { compileValidator } from '../../http/validation.ts';
import {
  actions,
  button,
  choices,
  code,
  definitions,
  type FormError,
  hiddenField,
  link,
  linkButton,
  notice,
  textField,
  time,
} from '../../web/components.ts';
import { formOf } from '../../web/html-scope.ts';
import { actorNames } from '../names.ts';
import { csrfField, errorOf, formErrors, formIdOf, idOfForm, titledPage } from '../forms.ts';
import { html, type Html } from '../../web/html.ts';
import { keyListPage, KEYS_PATH, revokeKeyPage, scopesText } from './api-key-pages.ts';

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

const TITLE = 'Create an API key';

interface TypedKey {
  name: string;
  /** A date without a time. */
  expires: string;
  scopes: readonly string[];
  test: boolean;
  /** Identifies this form, so that sending it twice creates one key. */
  formId: string;
}

interface CreateKeyPage {
  request: FastifyRequest;
  typed: TypedKey;
  errors: readonly FormError[];
}

export const KEY_FIELDS = {
  name: { label: 'Name', enter: 'Enter a name.' },
  expires_at: { label: 'Expires on', enter: 'Enter a date, such as 2030-01-31.', texts: { 'date.past': 'Enter a date in the future.' } },
  scopes: { label: 'Scopes', enter: 'Choose at least one scope.' },
  test: { label: 'Use' },
};

const FRAME = { active: 'api-keys', trail: [{ text: 'API keys', href: KEYS_PATH }], narrow: true } as const;

function createKeyPage({ request, typed, errors }: CreateKeyPage): Html {
  const body = html`<form method="post" action="${KEYS_PATH}/new" novalidate>
      ${csrfField(request)} ${hiddenField('form_id', typed.formId)}
      ${textField({
        name: 'name',
        label: KEY_FIELDS.name.label,
        hint: 'What uses the key, such as "CI of the shop".',
        value: typed.name,
        required: true,
        maxlength: KEY_NAME_MAX,
        autocomplete: 'off',
        error: errorOf(errors, 'name'),
      })}
      ${textField({
        name: 'expires_at',
        label: KEY_FIELDS.expires_at.label,
        hint: 'The key stops working at 00:00 UTC on this day. Without a date it works until it is revoked.',
        type: 'date',
        width: 'medium',
        value: typed.expires,
        error: errorOf(errors, 'expires_at'),
      })}
      ${choices({
        name: 'scopes',
        label: KEY_FIELDS.scopes.label,
        hint: 'What requests with the key may do. A pipeline needs the first two.',
        type: 'checkbox',
        values: typed.scopes,
        choices: KEY_SCOPES.map((scope) => ({ value: scope, text: scope, hint: SCOPE_MEANINGS[scope] })),
        error: errorOf(errors, 'scopes'),
      })}
      ${choices({
        name: 'test',
        label: KEY_FIELDS.test.label,
        type: 'radio',
        values: [typed.test ? 'yes' : 'no'],
        choices: [
          { value: 'no', text: 'Scans of any site', hint: 'Each tested page costs one credit.' },
          {
            value: 'yes',
            text: 'Tests',
            hint: 'Scans only the demo site and loopback addresses, if this installation allows them, and costs nothing.',
          },
        ],
        error: errorOf(errors, 'test'),
      })}
      ${actions(button({ text: 'Create key', kind: 'primary' }), linkButton({ text: 'Cancel', href: KEYS_PATH, kind: 'quiet' }))}
    </form>`;
  return titledPage({ ...FRAME, request, title: TITLE, errors, body });
}

const EXPIRY = (key: ApiKey): Html => (key.expiresAt === null ? html`Never` : time(key.expiresAt));

function newKeyPage({ request, key, secret }: { request: FastifyRequest; key: ApiKey; secret: string }): Html {
  const { publicBaseUrl } = request.server.web;
  const body = html`${notice({
    kind: 'warn',
    title: 'Copy the key now',
    body: 'It is shown on this page only, and never again. If it is lost, revoke it and create another one.',
    announce: true,
  })}
    <div data-secret data-forgotten="The key is not shown any more.">${code({ id: 'new-key', text: secret, label: 'API key', inline: true })}</div>
    ${definitions([
      ['Name', key.name],
      ['Scopes', scopesText(key)],
      ['Use', key.test ? 'Tests' : 'Scans of any site'],
      ['Expires', EXPIRY(key)],
    ])}
    <h2>Use it</h2>
    <p>Keep the key in the secrets of your CI, and give it to the command line as <code translate="no">CURBCUT_API_KEY</code>:</p>
    ${code({
      id: 'use-key',
      label: 'Commands',
      text: `export CURBCUT_URL=${publicBaseUrl}\nread -rs CURBCUT_API_KEY && export CURBCUT_API_KEY\ncurbcut scan https://example.com/ --min-score 90`,
    })}
    <p>${linkButton({ text: 'I have saved the key', href: KEYS_PATH })}</p>`;
  return titledPage({ ...FRAME, request, title: 'Your new API key', body, scripts: ['forget-secret.js'] });
}

/** The form was sent again, as by a reload. */
function alreadyCreatedPage(request: FastifyRequest): Html {
  const body = html`<p class="lead">This form has created a key, and the key is shown only once. No second key was created.</p>
    <p>If you have not saved the key, revoke it in the ${link('list of API keys', KEYS_PATH)}, and create another one.</p>
    ${actions(linkButton({ text: 'Show the API keys', href: KEYS_PATH, kind: 'primary' }), linkButton({ text: TITLE, href: `${KEYS_PATH}/new` }))}`;
  return titledPage({ ...FRAME, request, title: 'The key was created before', body });
}
