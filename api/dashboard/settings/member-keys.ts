/** The API keys that a person created, for the owner who has removed the person. */
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { userIdOf } from '../../../stores/accounts/user-document.ts';
import type { ApiKey } from '../../../stores/accounts/keys.ts';
import { ApiError } from '../../http/errors.ts';
import { askedBy, createKeyManagement, type KeyManagementDeps } from '../../accounts/key-management.ts';
import { storesOf } from '../../accounts/scoped-stores.ts';
import { actions, button, hiddenField, linkButton, notice, table, time } from '../../web/components/index.ts';
import { formOf } from '../../web/html-scope.ts';
import { html, type Html } from '../../web/html.ts';
import { endOf, KEYS_PATH, lastUse, scopesText } from '../api-keys/list-page.ts';
import { csrfField } from '../forms.ts';
import { MEMBERS_PATH } from './members-page.ts';
import { titledPage } from '../titled-page.ts';

const PATH = `${MEMBERS_PATH}/keys`;
const CONFIG = { permission: 'members:write' } as const;

/** The page of the keys that a person created. */
export const memberKeysPath = (email: string, { removed = false } = {}): string =>
  `${PATH}?${new URLSearchParams({ of: email, ...(removed && { removed: '' }) })}`;

export const memberKeyPages: FastifyPluginAsync<KeyManagementDeps> = async (scope, deps) => {
  const management = createKeyManagement(deps);

  scope.get<{ Querystring: { of?: unknown; removed?: unknown } }>(PATH, { config: CONFIG }, async (request, reply) => {
    const { of, removed } = request.query;
    const email = typeof of === 'string' ? userIdOf(of) : '';
    const keys = await storesOf(request).keys.createdBy(email);
    if (keys.length === 0) throw new ApiError('not_found');
    return reply.page(memberKeysPage({ request, email, keys, removed: removed !== undefined }));
  });

  scope.post(PATH, { config: CONFIG }, async (request, reply) => {
    const revoked = await management.revokeCreatedBy(askedBy(request), userIdOf(formOf(request.body).text('email')));
    if (revoked.length === 0) throw new ApiError('not_found');
    return reply.redirect(`${MEMBERS_PATH}?done=keys`, 303);
  });
};

interface MemberKeysPage {
  request: FastifyRequest;
  email: string;
  keys: readonly ApiKey[];
  /** Whether the person was removed a moment ago. */
  removed: boolean;
}

function memberKeysPage({ request, email, keys, removed }: MemberKeysPage): Html {
  const count = keys.length === 1 ? 'this key' : `these ${keys.length} keys`;
  const done = removed ? `${email} is removed and signed out. What the member invited is canceled.` : null;
  const body = html`${notice({
    kind: 'warn',
    title: `${email} created ${count}, which still work${keys.length === 1 ? 's' : ''}`,
    body: 'A person who knows a key can use it without an account. Revoke the keys, unless something else depends on them: then replace them first.',
  })}
    ${table({
      id: 'member-keys',
      caption: `Live API keys that ${email} created`,
      captionHidden: true,
      columns: [
        { text: 'Name' },
        { text: 'Key' },
        { text: 'Scopes' },
        { text: 'Created' },
        { text: 'Last used' },
        { text: 'Actions', hidden: true },
      ],
      rows: keys.map((key) => [
        key.name,
        endOf(key),
        scopesText(key),
        time(key.createdAt),
        lastUse(key),
        linkButton({ text: 'Revoke', kind: 'quiet', href: `${KEYS_PATH}/${key.id}/revoke`, hiddenText: key.name }),
      ]),
    })}
    <form method="post" action="${PATH}">
      ${csrfField(request)} ${hiddenField('email', email)}
      ${actions(
        button({ text: keys.length === 1 ? 'Revoke the key' : `Revoke all ${keys.length} keys`, kind: 'danger' }),
        linkButton({ text: keys.length === 1 ? 'Keep it' : 'Keep them', href: MEMBERS_PATH, kind: 'quiet' }),
      )}
    </form>`;
  const trail = [{ text: 'Members', href: MEMBERS_PATH }];
  return titledPage({ request, title: 'Keys of a member', active: 'members', trail, done, body });
}
