/** Settings → API keys: the list, creating a key, and revoking one. */
import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { KEY_SCOPES, PIPELINE_SCOPES, SCOPE_MEANINGS } from '../../../core/accounts.ts';
import { readDateTime } from '../../../core/date-time.ts';
import { type ApiKey, KEY_STATUSES, type KeyStatus } from '../../../stores/accounts/keys.ts';
import { ApiError } from '../../http/errors.ts';
import { askedBy, createKeyManagement } from '../../accounts/key-management.ts';
import { decodeCursor, pageOf } from '../../http/pagination.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import { LIMITS } from '../../http/rate-limits.ts';
import { NewKey } from '../../accounts/api-keys.ts';
import { storesOf } from '../../accounts/scoped-stores.ts';
import { actions, button, code, definitions, type FormError, hiddenField, link, linkButton, notice, time } from '../../web/components.ts';
import { formOf } from '../../web/html-scope.ts';
import { actorNames } from '../names.ts';
import { csrfField, formIdOf, idOfForm, titledPage } from '../forms.ts';
import { html, type Html } from '../../../report/html/html.ts';
import { answerForm, schemaForm, type Typed } from '../schema-form.ts';
import { requireReauthentication } from '../second-factor/confirm.ts';
import { tellOfKey } from '../../accounts/owner-notices.ts';
import { KEYS_PATH } from '../../../core/web-paths.ts';
import { keyListPage, revokeKeyPage, scopesText } from './api-key-pages.ts';
import { m, t, tr } from '../../web/texts.ts';

const PER_PAGE = 25;
const PERMISSION = { config: { permission: 'keys:write' } } as const;
const PROVED = { ...PERMISSION, preHandler: requireReauthentication() };

export const keyPages: FastifyPluginAsync = async (scope) => {
  const management = createKeyManagement(scope);

  scope.get(KEYS_PATH, PERMISSION, async (request, reply) => {
    const { status: wanted, cursor, revoked } = request.query as Record<string, string | undefined>;
    const status = KEY_STATUSES.find((one) => one === wanted) as KeyStatus | undefined;
    const found = await storesOf(request).keys.list({ status, after: decodeCursor(cursor), limit: PER_PAGE + 1 });
    const { items, nextCursor } = pageOf(found, PER_PAGE, (key) => ({ at: key.createdAt, id: key.id }));
    const message = revoked === undefined ? null : t`The key was revoked.`;
    const first = cursor === undefined;
    const names = await actorNames(storesOf(request), items, ({ createdBy }) => createdBy);
    return reply.page(keyListPage({ request, keys: items, names, status, first, nextCursor, message, now: scope.now() }));
  });

  scope.get(`${KEYS_PATH}/new`, PROVED, async (request, reply) => {
    const typed = KEY_FORM.initial({ scopes: PIPELINE_SCOPES, test: 'no' });
    return reply.page(createKeyPage({ request, typed, formId: randomUUID(), errors: [] }));
  });

  scope.post(`${KEYS_PATH}/new`, PROVED, (request, reply) => {
    const form = formOf(request.body);
    const [typed, formId] = [KEY_FORM.read(form), formIdOf(form)];
    return answerForm(reply, {
      fields: KEY_FORM.fields,
      refusals: ['rate_limit_exceeded', 'too_many_keys'],
      page: (errors) => createKeyPage({ request, typed, formId, errors }),
      async act() {
        const { expires_at: expires, ...wanted } = KEY_FORM.check(KEY_FORM.body(typed));
        await admit(request);
        const expiresAt = expires == null ? null : readDateTime(expires);
        const issued = await management.issue(askedBy(request), { ...wanted, expiresAt, id: idOfForm(request, formId) });
        if (issued.ok) {
          await tellOfKey(request, 'key_created', issued.key);
          return reply.page(newKeyPage({ request, ...issued }), { status: 201 });
        }
        if (issued.reason === 'already_issued') return reply.page(alreadyCreatedPage(request));
        throw new ApiError(issued.reason);
      },
    });
  });

  scope.get<{ Params: { key_id: string } }>(`${KEYS_PATH}/:key_id/revoke`, PERMISSION, async (request, reply) => {
    const key = await storesOf(request).keys.find(request.params.key_id);
    if (key === null) throw new ApiError('key_not_found');
    const names = await actorNames(storesOf(request), [key], ({ createdBy }) => createdBy);
    return reply.page(revokeKeyPage({ request, key, names, now: scope.now() }));
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

/** The limit that the API has too. @throws ApiError if it is reached */
async function admit(request: FastifyRequest): Promise<void> {
  const policy = 'key-creations';
  const decision = await request.server.stores.rateLimits.admit([
    { policy, subject: callerOf(request).organisation.id, ...LIMITS[policy] },
  ]);
  if (!decision.ok) throw new ApiError('rate_limit_exceeded', { retryAfterSeconds: decision.retryAfterSeconds });
}

const TITLE = m`Create an API key`;

export const KEY_FORM = schemaForm(NewKey, {
  name: { label: m`Name`, hint: m`What uses the key, such as "CI of the shop".`, enter: m`Enter a name.` },
  expires_at: {
    label: m`Expires on`,
    hint: m`The key stops working at 00:00 UTC on this day. Without a date it works until it is revoked.`,
    enter: m`Enter a date, such as 2030-01-31.`,
    texts: { 'date.past': m`Enter a date in the future.` },
  },
  scopes: {
    label: m`Scopes`,
    hint: m`What requests with the key may do. A pipeline needs the first two.`,
    enter: m`Choose at least one scope.`,
    choices: KEY_SCOPES.map((scope) => ({ value: scope, text: scope, hint: SCOPE_MEANINGS[scope] })),
  },
  test: {
    label: m`Use`,
    choices: [
      { value: 'no', text: m`Scans of any site`, hint: m`Each tested page costs one credit.` },
      {
        value: 'yes',
        text: m`Tests`,
        hint: m`Scans only the demo site and loopback addresses, if this installation allows them, and costs nothing.`,
      },
    ],
  },
});

interface CreateKeyPage {
  request: FastifyRequest;
  typed: Typed;
  /** Identifies the form, so that sending it twice creates one key. */
  formId: string;
  errors: readonly FormError[];
}

const frame = () => ({ active: 'api-keys', trail: [{ text: t`API keys`, href: KEYS_PATH }], narrow: true }) as const;

function createKeyPage({ request, typed, formId, errors }: CreateKeyPage): Html {
  const body = html`<form method="post" action="${KEYS_PATH}/new" novalidate>
    ${csrfField(request)} ${hiddenField('form_id', formId)} ${KEY_FORM.controls(typed, errors)}
    ${actions(button({ text: t`Create key`, kind: 'primary' }), linkButton({ text: t`Cancel`, href: KEYS_PATH, kind: 'quiet' }))}
  </form>`;
  return titledPage({ ...frame(), request, title: tr(TITLE), errors, body });
}

const EXPIRY = (key: ApiKey): Html | string => (key.expiresAt === null ? t`Never` : time(key.expiresAt));

function newKeyPage({ request, key, secret }: { request: FastifyRequest; key: ApiKey; secret: string }): Html {
  const { publicBaseUrl } = request.server.web;
  const body = html`${notice({
    kind: 'warn',
    title: t`Copy the key now`,
    body: t`It is shown on this page only, and never again. If it is lost, revoke it and create another one.`,
    announce: true,
  })}
    <div data-secret data-forgotten="${t`The key is not shown any more.`}">${code({ id: 'new-key', text: secret, label: t`API key`, inline: true })}</div>
    ${definitions([
      [t`Name`, key.name],
      [t`Scopes`, scopesText(key)],
      [t`Use`, key.test ? t`Tests` : t`Scans of any site`],
      [t`Expires`, EXPIRY(key)],
    ])}
    <h2>${t`Use it`}</h2>
    <p>${t`Keep the key in the secrets of your CI, and give it to the command line as ${html`<code translate="no">CURBCUT_API_KEY</code>`}:`}</p>
    ${code({
      id: 'use-key',
      label: t`Commands`,
      text: `export CURBCUT_URL=${publicBaseUrl}\nread -rs CURBCUT_API_KEY && export CURBCUT_API_KEY\ncurbcut scan https://example.com/ --min-score 90`,
    })}
    <p>${linkButton({ text: t`I have saved the key`, href: KEYS_PATH })}</p>`;
  return titledPage({ ...frame(), request, title: t`Your new API key`, body });
}

/** The form was sent again, as by a reload. */
function alreadyCreatedPage(request: FastifyRequest): Html {
  const body = html`<p class="lead">${t`This form has created a key, and the key is shown only once. No second key was created.`}</p>
    <p>${t`If you have not saved the key, revoke it in the ${link(t`list of API keys`, KEYS_PATH)}, and create another one.`}</p>
    ${actions(linkButton({ text: t`Show the API keys`, href: KEYS_PATH, kind: 'primary' }), linkButton({ text: tr(TITLE), href: `${KEYS_PATH}/new` }))}`;
  return titledPage({ ...frame(), request, title: t`The key was created before`, body });
}
