/** What a person leaves behind in an organisation, after a change of role, a removal or a new password, with buttons for each. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { mayCall, type Permission } from '../../../core/accounts.ts';
import { isEmailAddress } from '../../../core/email-address.ts';
import { ACCOUNT_PATH, MEMBERS_PATH, schedulePath, WEBHOOKS_PATH } from '../../../core/web-paths.ts';
import { hostOf } from '../../../core/webhooks/webhooks.ts';
import type { ApiKey } from '../../../stores/accounts/keys.ts';
import { isNothing, type LeftBehind } from '../../../stores/accounts/left-behind.ts';
import { userIdOf } from '../../../stores/accounts/user-document.ts';
import { askedBy, createKeyManagement } from '../../accounts/key-management.ts';
import { LEFT_BEHIND_PATH, leftBehindPath, tellOfKey } from '../../accounts/owner-notices.ts';
import { recordChange, storesOf } from '../../accounts/scoped-stores.ts';
import { ApiError, statusOf } from '../../http/errors.ts';
import { callerOf } from '../../http/plugins/auth.ts';
import { requirePermission } from '../../http/plugins/permissions.ts';
import { actions, badge, button, confirmedForm, emptyState, hiddenField, link, table } from '../../web/components.ts';
import { formOf } from '../../web/html-scope.ts';
import { html, type Html, type HtmlValue } from '../../../report/html/html.ts';
import { createScheduleManagement } from '../../schedules/management.ts';
import { changeWebhook, removeWebhook } from '../../webhooks/management.ts';
import { csrfField, doneOf, postForm, titledPage } from '../forms.ts';
import { type ActorNames, actorNames } from '../names.ts';
import { textOf } from '../scans/actions.ts';
import { refOf } from '../schedules/pages.ts';
import { requireReauthentication } from '../second-factor/confirm.ts';
import { endOf, lastUse, limitText, scopesText } from './api-key-pages.ts';
import { isMember } from './members.ts';
import { stateOf } from './webhook-pages.ts';
import { m, t, tr } from '../../web/texts.ts';

/** `done`: what the page says afterwards. `ask`: what the question before it says. Absent: there is none. */
type Button = Readonly<{ needs: Permission; text: string; done: string; ask?: string }>;
type ButtonName = 'revoke' | 'revokeAll' | 'adopt' | 'disable' | 'deleteWebhook' | 'suspend' | 'deleteSchedule';

const REVOKED = m`What uses it gets 401 at once. It cannot be undone.`;
const ADOPTED = m`The key, and keys that it creates from now on, can do what you may do. Who created the key may still know it.`;
const BUTTONS: Readonly<Record<ButtonName, Button>> = {
  revoke: { needs: 'keys:write', text: m`Revoke`, done: m`The key is revoked.`, ask: REVOKED },
  revokeAll: { needs: 'keys:write', text: m`Revoke all API keys`, done: m`The keys are revoked.`, ask: REVOKED },
  adopt: { needs: 'members:write', text: m`Adopt`, done: m`The key is yours now. It can do what you may do.`, ask: ADOPTED },
  disable: { needs: 'webhooks:write', text: m`Disable`, done: m`The webhook is disabled. What waited for delivery is canceled.` },
  deleteWebhook: { needs: 'webhooks:write', text: m`Delete`, done: m`The webhook is deleted.`, ask: m`It cannot be undone.` },
  suspend: { needs: 'schedules:write', text: m`Suspend`, done: m`The schedule is suspended: no scan starts at its times.` },
  deleteSchedule: { needs: 'schedules:write', text: m`Delete`, done: m`The schedule is deleted.`, ask: m`Its scans stay.` },
};
const isButton = (name: string): name is ButtonName => Object.hasOwn(BUTTONS, name);

const DONE: Readonly<Record<string, string>> = {
  role: m`The role is changed.`,
  removed: m`The member is removed and signed out. What the member invited is canceled.`,
  password: m`Your password is changed. Your other sessions have ended.`,
  ...Object.fromEntries(Object.entries(BUTTONS).map(([name, { done }]) => [name, done])),
};
/** Why a button of an old page does nothing. */
const CHANGED = m`This was changed or ended meanwhile. Nothing was done.`;
const LEAD = m`These keep working after a new password, a sign-out or a removal. Whoever knows a key can use it without an account.`;

/** The person that the page is about: the viewer, or for owners anyone. @throws ApiError if the viewer may not see it */
function personOf(request: FastifyRequest): string {
  const { of } = request.query as { of?: unknown };
  const own = request.viewer!.email;
  const person = typeof of === 'string' ? userIdOf(of) : own;
  if (person !== own) requirePermission(callerOf(request), 'members:write');
  // What `curbcut-admin` and manifests created is no person's.
  if (!isEmailAddress(person)) throw new ApiError('not_found');
  return person;
}

/** To adopt a key is to create one. */
const proofToAdopt = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> =>
  formOf(request.body).text('do') === 'adopt' ? requireReauthentication()(request, reply) : undefined;

export const leftBehindPages: FastifyPluginAsync = async (scope) => {
  const management = createKeyManagement(scope);
  const schedules = createScheduleManagement(scope);
  const scheduleOf = (id: string) => refOf({ namespace: id.split('/')[0] ?? '', name: id.split('/')[1] ?? '' });

  async function adopt(request: FastifyRequest, id: string, person: string): Promise<void> {
    const key = person === request.viewer!.email ? null : await storesOf(request).keys.adopt(id, person);
    if (key === null) throw new ApiError('key_not_found');
    await recordChange(request, scope.logger, { action: 'key.adopt', subject: `${key.id} of ${person}` });
    await tellOfKey(request, 'key_adopted', key);
  }

  const act: Readonly<Record<ButtonName, (request: FastifyRequest, id: string, person: string) => Promise<unknown>>> = {
    revoke: (request, id) => management.revoke(askedBy(request), id),
    revokeAll: async (request, _id, person) => {
      if ((await management.revokeCreatedBy(askedBy(request), person)).length === 0) throw new ApiError('key_not_found');
    },
    adopt,
    disable: (request, id) => changeWebhook(request, id, { enabled: false }),
    deleteWebhook: removeWebhook,
    suspend: (request, id) => schedules.change(request, scheduleOf(id), { suspend: true }),
    deleteSchedule: (request, id) => schedules.remove(request, scheduleOf(id)),
  };

  async function show(request: FastifyRequest, reply: FastifyReply, error?: HtmlValue): Promise<FastifyReply> {
    const person = personOf(request);
    const left = await storesOf(request).leftBehindBy(person);
    const own = person === request.viewer!.email;
    const done = doneOf(request, DONE);
    if (done === null && isNothing(left) && !(await isMember(request, person))) throw new ApiError('not_found');
    const above = own ? { text: t`Account`, href: ACCOUNT_PATH } : { text: t`Members`, href: MEMBERS_PATH };
    const title = own ? t`Your keys, webhooks and schedules` : t`Keys, webhooks and schedules of ${person}`;
    const list = html`<p class="lead">${tr(LEAD)}</p>
      ${table({
        id: 'left-behind',
        caption: title,
        captionHidden: true,
        columns: [{ text: t`Name` }, { text: t`Kind` }, { text: t`Details`, wide: true }, { text: t`Actions`, hidden: true }],
        rows: rowsOf(request, left, await actorNames(storesOf(request), left.keys, ({ createdBy }) => createdBy)),
      })}
      ${left.keys.length > 1 && press(request, 'revokeAll', '', '')}`;
    const nothing = { title: t`There is nothing`, text: t`There is no API key, webhook or schedule of this person in the organisation.` };
    const [errors, status] = error === undefined ? [[], 200] : [[{ field: null, text: error }], 409];
    const frame = { request, title, trail: [above], active: own ? 'account' : 'members', errors, done } as const;
    return reply.page(titledPage({ ...frame, body: isNothing(left) ? emptyState(nothing) : list }), { status });
  }

  scope.get(LEFT_BEHIND_PATH, { config: { permission: 'scans:read' } }, (request, reply) => show(request, reply));

  scope.post(LEFT_BEHIND_PATH, { config: { permission: 'scans:read' }, preHandler: proofToAdopt }, async (request, reply) => {
    const person = personOf(request);
    const form = formOf(request.body);
    const name = form.text('do');
    if (!isButton(name)) throw new ApiError('not_found');
    requirePermission(callerOf(request), BUTTONS[name].needs);
    try {
      await act[name](request, form.text('id'), person);
    } catch (error) {
      const status = error instanceof ApiError ? statusOf(error) : 500;
      if (status === 404) return show(request, reply, tr(CHANGED));
      if (status === 409) return show(request, reply, textOf(error as ApiError));
      throw error;
    }
    return reply.redirect(leftBehindPath(person, { done: name }), 303);
  });
};

function rowsOf(request: FastifyRequest, { keys, webhooks, schedules }: LeftBehind, names: ActorNames): (readonly HtmlValue[])[] {
  const row = (id: string, name: string, href: string | null, kind: HtmlValue, details: HtmlValue, wanted: readonly ButtonName[]) => [
    href === null ? html`${name}` : link(name, href),
    kind,
    details,
    actions(...wanted.map((one) => press(request, one, id, name))),
  ];
  const detailsOf = (key: ApiKey) =>
    t`${scopesText(key)}. Created by ${names(key.createdBy)} ${limitText(key)}. Last used: ${lastUse(key)}`;
  return [
    ...keys.map((one) => row(one.id, one.name, null, t`API key ${endOf(one)}`, detailsOf(one), ['revoke', 'adopt'])),
    ...webhooks.map((one) => {
      const buttons = one.disabled === null ? (['disable', 'deleteWebhook'] as const) : (['deleteWebhook'] as const);
      return row(one.id, one.name, `${WEBHOOKS_PATH}/${one.id}`, t`Webhook ${stateOf(one)}`, t`Sends to ${hostOf(one)}`, buttons);
    }),
    ...schedules.map((one) => {
      const buttons = one.suspended ? (['deleteSchedule'] as const) : (['suspend', 'deleteSchedule'] as const);
      const state = one.suspended ? badge('plain', t`Suspended`) : badge('good', t`Active`);
      const id = `${one.namespace}/${one.name}`;
      return row(id, one.displayName ?? one.name, schedulePath(one), t`Schedule ${state}`, t`Scans ${one.site}`, buttons);
    }),
  ];
}

/** A button, for those who may press it. @param of the name of what it is about */
function press(request: FastifyRequest, name: ButtonName, id: string, of: string): Html | null {
  const { needs, ask } = BUTTONS[name];
  const text = tr(BUTTONS[name].text);
  const person = personOf(request);
  // A key of one's own is adopted already.
  if (!mayCall(callerOf(request), needs) || (name === 'adopt' && person === request.viewer!.email)) return null;
  const fields = html`${csrfField(request)} ${hiddenField('do', name)} ${hiddenField('id', id)}`;
  const action = leftBehindPath(person);
  const trigger = { text, kind: 'quiet', hiddenText: of } as const;
  if (ask === undefined) return postForm(request, action, button(trigger), { do: name, id });
  const question = { title: of === '' ? t`${text}?` : t`${text} ${of}?`, text: tr(ask), confirm: text, cancel: t`Cancel` };
  return confirmedForm({ ...question, id: `${name}-${id.replace('/', '-')}`, action, fields, trigger });
}
