/** Accepts an opened invitation: with the account that is signed in, or with a new password. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { Invitation } from '../../../stores/accounts/invitations.ts';
import type { Session } from '../../../stores/accounts/sessions.ts';
import type { User, VerifiedUser } from '../../../stores/accounts/users.ts';
import { csrfToken, hasCsrfToken, signedInOf } from '../../accounts/sessions/plugin.ts';
import { button, definitions, type FormError, hiddenField, linkButton, notice, textField } from '../../web/components.ts';
import { formOf } from '../../web/html-scope.ts';
import { errorOf, FORM_EXPIRED, linkEnded, PASSWORDS_OFF, plainPage, signInOf, usernameField } from '../forms.ts';
import { NEW_PASSWORD, newPasswordErrors, newPasswordField } from '../passwords.ts';
import { providerDecides } from '../../accounts/sessions/role-mapping.ts';
import { recordEntry } from '../audit.ts';
import { afterPassword } from '../second-factor/sign-in.ts';
import { type Html, html } from '../../../report/html/html.ts';
import { NAME_MAX, roleText } from '../names.ts';
import { ownPath } from '../../accounts/sessions/require-session.ts';
import { continued, startSession } from './start-session.ts';
import { t } from '../../web/texts.ts';

interface Opened {
  invitation: Invitation;
  organisationName: string;
  way: InvitationWay;
  /** The account that is signed in in this browser. */
  signedIn: VerifiedUser | null;
}

type Answer = FastifyReply | Promise<FastifyReply>;
const PATH = '/dashboard/invitation/:token';
const IN_USE = (): string => t`There is an account with this address already. Sign in to join with it.`;

const LIMITED = { config: { network: 'links' } } as const;

export const invitationRoutes: FastifyPluginAsync = async (scope) => {
  const { stores } = scope;
  const { provider, local } = signInOf(scope);

  /** Reads the invitation of the link, its organisation, and how the person can join. */
  async function open(request: FastifyRequest): Promise<Opened | null> {
    const signedIn = (await scope.readSession(request))?.user ?? null;
    const invitation = await stores.invitations.find((request.params as { token: string }).token);
    const organisation = invitation === null ? null : await stores.organisations.find(invitation.organisation);
    if (invitation === null || organisation === null || providerDecides(scope.settings, organisation.id)) return null;
    const { email } = invitation;
    const [account, belongings] = await Promise.all([stores.users.find(email), stores.members.of(email)]);
    const way = invitationWay({ invitation, account, belongs: belongings.length > 0, signedIn: signedIn?.email ?? null });
    return { invitation, organisationName: organisation.displayName, way, signedIn };
  }

  interface Shown {
    name?: string;
    errors?: FormError[];
    status?: number;
  }
  function show(request: FastifyRequest, reply: FastifyReply, opened: Opened, { name, errors, status }: Shown = {}): Answer {
    const token = csrfToken(request, reply);
    return reply.page(invitationPage({ request, csrfToken: token, ...opened, provider, local, name, errors }), { status });
  }

  scope.get(PATH, LIMITED, async (request, reply) => {
    const opened = await open(request);
    return opened === null ? ended(request, reply) : show(request, reply, opened);
  });

  scope.post(PATH, LIMITED, async (request, reply) => {
    const opened = await open(request);
    if (opened === null) return ended(request, reply);
    const { invitation, organisationName, way, signedIn } = opened;
    const form = formOf(request.body);
    const name = form.text('name');
    const refuse = (errors: FormError[], status: number) => show(request, reply, opened, { errors, status, name });
    if (!hasCsrfToken(request)) return refuse([{ field: way === 'new_password' ? NEW_PASSWORD : null, text: FORM_EXPIRED() }], 403);
    if (way === 'join') return finish(request, reply, invitation, async () => signedIn, signedInOf(request).session);
    if (way !== 'new_password') return refuse([{ field: null, text: IN_USE() }], 409);
    if (!local) return refuse([{ field: null, text: PASSWORDS_OFF() }], 403);
    const password = form.exact(NEW_PASSWORD);
    const errors = newPasswordErrors(password, [invitation.email, organisationName]);
    if (name.length > NAME_MAX) errors.unshift({ field: 'name', text: t`Use at most ${NAME_MAX} characters.` });
    if (errors.length > 0) return refuse(errors, 422);
    return finish(request, reply, invitation, () => newAccount(invitation, { name: name === '' ? null : name, password }));
  });

  /** Adds the account of the invited address, or gives it to the person if the mail has proved that the address is theirs. */
  async function newAccount(
    { email, mailed, createdBy }: Invitation,
    mine: { name: string | null; password: string },
  ): Promise<User | null> {
    const added = await stores.users.add({ email, createdBy, verified: mailed, ...mine });
    if (added.ok) return added.user;
    return mailed ? stores.users.reclaim(email, mine) : null;
  }

  /** @param session the one that goes on. Null: the person has just set the password */
  async function finish(
    request: FastifyRequest,
    reply: FastifyReply,
    opened: Invitation,
    account: () => Promise<(User & Partial<Pick<VerifiedUser, 'generation'>>) | null>,
    session: Session | null = null,
  ): Promise<FastifyReply> {
    const accepted = await stores.members.accept(opened, account);
    if (!accepted.ok && accepted.reason === 'ended') return ended(request, reply);
    if (!accepted.ok) {
      const again = await open(request);
      return again === null
        ? ended(request, reply)
        : show(request, reply, again, { errors: [{ field: null, text: IN_USE() }], status: 409 });
    }
    const { invitation, user } = accepted;
    await recordJoin(request, invitation);
    const { organisation } = invitation;
    const [next, options] = ['/dashboard', { request, reply }];
    if (session === null) return reply.redirect((await afterPassword(options, user, { next, organisation })) ?? next, 303);
    await startSession(options, user, { ...continued(session), organisation });
    return reply.redirect(next, 303);
  }
};

const ended = (request: FastifyRequest, reply: FastifyReply): Answer =>
  reply.page(
    linkEnded(
      request,
      t`This invitation does not work any more`,
      t`It was used, canceled or replaced by a newer one, or it is older than 72 hours. Open the newest mail, or ask for a new invitation. If you have joined already, sign in.`,
      linkButton({ text: t`Sign in`, href: '/dashboard/sign-in' }),
    ),
    { status: 404 },
  );

/** Records that an invitation was accepted. */
export const recordJoin = (request: FastifyRequest, { id, email, organisation, role }: Invitation): Promise<unknown> =>
  recordEntry(request, { organisation, actor: email, action: 'user.join', subject: `${email}: ${role}`, once: id });

/**
 * `join`: the account is signed in and confirms. `new_password`: the link gives the address to this person, who chooses a
 * password. `sign_in`: the address has an account, and the link does not give access to it. `other_account`: someone else is
 * signed in.
 */
export type InvitationWay = 'join' | 'new_password' | 'sign_in' | 'other_account';

interface OpenedInvitation {
  invitation: Pick<Invitation, 'email' | 'mailed'>;
  /** The account of the invited address. Null: there is none. */
  account: Pick<User, 'verified'> | null;
  /** Whether the account belongs to an organisation. */
  belongs: boolean;
  /** The address that is signed in in this browser. Null: none. */
  signedIn: string | null;
}

export function invitationWay({ invitation, account, belongs, signedIn }: OpenedInvitation): InvitationWay {
  if (signedIn !== null && signedIn !== invitation.email) return 'other_account';
  const unproven = account === null || !account.verified;
  // Who set the password of an address that was never verified is unknown. The mail proves who owns it, so that person starts anew.
  if (invitation.mailed && unproven) return 'new_password';
  if (signedIn !== null) return 'join';
  // A link that was shown to someone else proves nothing, so it must not open an account that is in use.
  return account === null || (unproven && !belongs) ? 'new_password' : 'sign_in';
}

interface InvitationPage {
  request: FastifyRequest;
  csrfToken: string;
  errors?: readonly FormError[];
  invitation: Invitation;
  organisationName: string;
  way: InvitationWay;
  /** The account that is signed in in this browser. */
  signedIn: Pick<User, 'email'> | null;
  /** What was typed. */
  name?: string;
  provider: string | null;
  local: boolean;
}

function invitationPage(options: InvitationPage): Html {
  const { request, invitation, organisationName, errors = [] } = options;
  return plainPage(
    request,
    t`Join ${organisationName}`,
    errors,
    html`<p class="lead">${t`${invitation.createdBy} invites you to ${organisationName} on Curbcut.`}</p>
      ${definitions([
        [t`E-mail address`, invitation.email],
        [t`Role`, roleText(invitation.role)],
      ])}
      ${wayToJoin(options)}`,
  );
}

function wayToJoin(options: InvitationPage): Html {
  const { request, csrfToken, signedIn, provider, local } = options;
  const next = encodeURIComponent(ownPath(request.url));
  const atProvider = (kind: 'primary' | 'secondary'): Html | false =>
    provider !== null && html`<p>${linkButton({ text: provider, href: `/dashboard/sign-in/oidc?next=${next}`, kind })}</p>`;
  switch (options.way) {
    case 'join':
      return html`<form method="post">${hiddenField('_csrf', csrfToken)} ${button({ text: t`Join`, kind: 'primary' })}</form>`;
    case 'new_password':
      return html`${local && newPasswordForm(options)} ${atProvider(local ? 'secondary' : 'primary')}`;
    case 'sign_in':
      return html`<p>${t`This address has an account. Sign in, and then join.`}</p>
        ${local && html`<p>${linkButton({ text: t`Sign in with your password`, href: `/dashboard/sign-in?next=${next}`, kind: 'primary' })}</p>`}
        ${atProvider(local ? 'secondary' : 'primary')}`;
    case 'other_account':
      return html`${notice({
        kind: 'warn',
        title: t`You are signed in with another address`,
        body: t`You are signed in as ${signedIn?.email}, and the invitation is for another address. Sign out, and then open the link again.`,
      })}
        <form method="post" action="/dashboard/sign-out">${hiddenField('_csrf', csrfToken)} ${button({ text: t`Sign out` })}</form>`;
  }
}

const newPasswordForm = ({ csrfToken, invitation, name, errors = [] }: InvitationPage): Html =>
  html`<form method="post" novalidate>
    ${hiddenField('_csrf', csrfToken)}
    ${usernameField(invitation.email)}
    ${textField({ name: 'name', label: t`Your name`, value: name, autocomplete: 'name', error: errorOf(errors, 'name') })}
    ${newPasswordField(errors)} ${button({ text: t`Join`, kind: 'primary' })}
  </form>`;
