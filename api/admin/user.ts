/** `curbcut-admin user …`: the users of an organisation, who can sign in. */
import { DEFAULT_ROLE, ROLES, type Role } from '../../core/accounts.ts';
import { errorMessage } from '../../platform/errors.ts';
import { isEmailAddress } from '../../core/email-address.ts';
import { hostOf } from '../../core/webhooks/webhooks.ts';
import { PASSWORD_PROBLEMS, passwordProblem } from '../../core/passwords.ts';
import type { ApiKey } from '../../stores/accounts/keys.ts';
import { leftBehindBy, type LeftBehind } from '../../stores/accounts/left-behind.ts';
import { tellLeftBehind } from '../accounts/owner-notices.ts';
import { userIdOf } from '../../stores/accounts/user-document.ts';
import type { User } from '../../stores/accounts/users.ts';
import {
  ACTOR,
  columns,
  command,
  CommandRefused,
  findOrganisation,
  notify,
  ORGANISATION_OPTION,
  organisationsOf,
  record,
  type AdminContext,
  type Command,
  type CommandResult,
  type Values,
} from './command.ts';

/**
 * Returns a new password that was read from standard input, if the dashboard would accept it too.
 * @param known values that others expect @throws CommandRefused
 */
export function acceptedPassword(password: string, known: readonly string[]): string {
  if (password === '') throw new CommandRefused('Standard input contains no password.');
  const problem = passwordProblem(password, { known });
  if (problem !== null) throw new CommandRefused(`The password is not accepted. ${PASSWORD_PROBLEMS[problem]}`);
  return password;
}

const PASSWORD_STDIN = {
  'password-stdin': { meaning: 'read the password from standard input; default: a generated one, shown once' },
} as const;

/** Reads the password from standard input, or generates one. It is never an argument, because all processes can read those. */
async function passwordFor(
  values: Values<typeof PASSWORD_STDIN>,
  context: AdminContext,
  known: readonly string[],
): Promise<{ password: string; generated: boolean }> {
  if (!values['password-stdin']) return { password: context.randomToken(), generated: true };
  const typed = (await context.readInput()).replace(/\r?\n$/, '');
  return { password: acceptedPassword(typed, known), generated: false };
}

/** @throws CommandRefused if there is no such role */
function roleOf(text: string): Role {
  const role = ROLES.find((one) => one === text);
  if (role === undefined) throw new CommandRefused(`--role must be ${ROLES.join(', ').replace(/, (?=\w+$)/, ' or ')}, not ${text}.`, true);
  return role;
}

const notMember = (email: string, organisation: string): CommandRefused =>
  new CommandRefused(`${email} does not belong to ${organisation}; run "curbcut-admin user list --organisation ID".`);

const onlyOwner = (email: string, organisations: readonly string[]): CommandRefused =>
  new CommandRefused(
    `${email} is the only owner of ${organisations.join(', ')}; add another owner first, or repeat the command with --last-owner.`,
  );

const ADD_OPTIONS = {
  ...ORGANISATION_OPTION,
  role: { value: ROLES.join('|'), meaning: `default: ${DEFAULT_ROLE}` },
  ...PASSWORD_STDIN,
  unverified: { meaning: 'permits to add an existing user whose address is not verified' },
} as const;

/** Adds a user who has an account, and leaves the password as it is. @throws CommandRefused */
async function addExisting(
  values: Values<typeof ADD_OPTIONS>,
  context: AdminContext,
  user: User,
  id: string,
  role: Role,
): Promise<CommandResult> {
  const { members } = context.stores;
  const { email } = user;
  if (values['password-stdin'])
    throw new CommandRefused(`user ${email} already exists; leave --password-stdin away, or run "curbcut-admin user reset-password".`);
  if ((await members.find(id, email)) !== null) throw new CommandRefused(`user ${email} already belongs to ${id}`);
  if (!user.verified && !values.unverified)
    throw new CommandRefused(
      `user ${email} already exists, and the address is not verified: anyone who knows its password would get access to ${id}. If you know who uses the account, repeat the command with --unverified.`,
    );
  await members.add(id, email, role);
  await record(context, id, 'user.add', email);
  const member = await members.find(id, email);
  return { data: member, lines: [`Added ${email} to ${id} as ${role}. The account keeps its password.`] };
}

const noUser = (email: string): CommandRefused => new CommandRefused(`No user has the address ${email}.`);

/** What a person leaves behind in an organisation, and the command that ends each. */
function leftLines(organisation: string, email: string, { keys, webhooks, schedules }: LeftBehind): string[] {
  const limited = ({ limit }: ApiKey) => (limit === null ? '' : `, at most ${limit.role}`);
  const lines = [
    ...keys.map((key) => `key ${key.name}${limited(key)}: curbcut-admin key revoke ${key.id} --organisation ${organisation}`),
    ...webhooks.map(
      ({ id, name, url }) => `webhook ${name} to ${hostOf({ url })}: curbcut-admin webhook disable ${id} --organisation ${organisation}`,
    ),
    ...schedules.map(({ namespace, name, site }) => `schedule of ${site}: kubectl delete scanschedule ${name} -n ${namespace}`),
  ];
  return lines.length === 0 ? [] : [`What ${email} leaves in ${organisation}, with a command that ends each:`, ...lines];
}

/**
 * What a person leaves behind, for JSON and in lines.
 * @param limited whether the role of the person changed or ended, which the owners learn
 */
async function leftIn(
  { stores, mail, warn }: AdminContext,
  email: string,
  organisations: readonly string[],
  { limited = true } = {},
): Promise<{ left: object; lines: string[] }> {
  const lost = (error: unknown) => warn(`warning: the change was made, but the owners may not learn what is left: ${errorMessage(error)}`);
  const told = { stores, mail, lost };
  const all = await Promise.all(
    organisations.map(async (id) => ({
      id,
      ...(await (limited ? tellLeftBehind(told, id, email, ACTOR) : leftBehindBy(stores, id, email))),
    })),
  );
  const lines = all.flatMap(({ id, ...left }) => leftLines(id, email, left));
  const webhooks = all.flatMap((one) => one.webhooks.map(({ url, ...webhook }) => ({ ...webhook, host: hostOf({ url }) })));
  return { left: { keys: all.flatMap(({ keys }) => keys), webhooks, schedules: all.flatMap(({ schedules }) => schedules) }, lines };
}

const passwordLines = ({ password, generated }: { password: string; generated: boolean }): string[] =>
  generated ? [`Password: ${password}`, 'Save the password now: it is not shown again.'] : [];

export const USER: Record<string, Command> = {
  add: command({
    arguments: '<EMAIL>',
    summary: 'adds a user to an organisation. An existing user keeps the password',
    options: ADD_OPTIONS,
    async run({ positionals: [email], values }, context) {
      if (!isEmailAddress(email)) throw new CommandRefused(`${email} is not an email address.`);
      const role = roleOf(values.role ?? DEFAULT_ROLE);
      const { id, displayName } = await findOrganisation(context, values.organisation);
      const existing = await context.stores.users.find(email);
      // An account that is not verified and belongs to no organisation holds no address.
      if (existing !== null && (existing.verified || (await organisationsOf(context, existing.email)).length > 0))
        return addExisting(values, context, existing, id, role);
      const secret = await passwordFor(values, context, [email, id, displayName]);
      const added = await context.stores.users.add({ email, organisation: id, password: secret.password, role, createdBy: ACTOR });
      if (!added.ok) throw new CommandRefused(`user ${added.email} already exists`);
      const { user } = added;
      await record(context, id, 'user.add', user.email);
      return {
        data: { ...user, organisation: id, role, ...(secret.generated && { password: secret.password }) },
        lines: [`Added ${user.email} to ${id} as ${role}.`, ...passwordLines(secret)],
      };
    },
  }),

  'reset-password': command({
    arguments: '<EMAIL>',
    summary: 'sets a new password and ends all sessions of the user',
    options: PASSWORD_STDIN,
    async run({ positionals: [email], values }, context) {
      const user = await context.stores.users.find(email);
      if (user === null) throw noUser(email);
      const organisations = await organisationsOf(context, user.email);
      const secret = await passwordFor(values, context, [user.email, ...organisations]);
      await context.stores.users.resetPassword(user.email, secret.password);
      for (const id of organisations) await record(context, id, 'user.reset-password', user.email);
      const { mailed, line } = await notify(context, 'password', user.email);
      const { left, lines } = await leftIn(context, user.email, organisations, { limited: false });
      return {
        data: { email: user.email, mailed, ...left, ...(secret.generated && { password: secret.password }) },
        lines: [`${user.email} has a new password.`, line, ...lines, ...passwordLines(secret)],
      };
    },
  }),

  'reset-second-factor': command({
    arguments: '<EMAIL>',
    summary:
      'removes the passkeys, the authenticator app and the recovery codes of a user who has lost them, and ends all sessions of the user',
    async run({ positionals: [email] }, context) {
      const { users, secondFactors } = context.stores;
      const user = await users.find(email);
      if (user === null) throw noUser(email);
      const removed = await secondFactors.reset(user.email);
      if (removed)
        for (const id of await organisationsOf(context, user.email)) await record(context, id, 'user.reset-second-factor', user.email);
      const { mailed, line } = removed ? await notify(context, 'factors', user.email) : { mailed: false, line: null };
      const lines = line === null ? [`${user.email} had no second factor.`] : [`${user.email} has no second factor any more.`, line];
      return { data: { email: user.email, removed, mailed }, lines };
    },
  }),

  unlink: command({
    arguments: '[EMAIL...]',
    summary:
      'removes the link of a user to an account at the identity provider, or with --issuer of all its users, and ends their sessions',
    options: { issuer: { value: 'URL', meaning: 'the issuer whose users are unlinked, as the provider states it' } },
    async run({ positionals, values: { issuer } }, context) {
      const { users } = context.stores;
      if (positionals.length !== (issuer === undefined ? 1 : 0))
        throw new CommandRefused('Give the address of one user, or --issuer.', true);
      const linked = await users.linked();
      const emails = issuer === undefined ? positionals : (linked.get(issuer) ?? []);
      const unlinked = [];
      for (const one of emails) {
        const link = await users.unlink(one, issuer);
        if (link === null) continue;
        for (const id of await organisationsOf(context, link.email))
          await record(context, id, 'user.unlink', `${link.email}: ${link.issuer}`);
        unlinked.push(link);
      }
      if (unlinked.length === 0) {
        const issuers = [...linked].map(([url, of]) => `${url} (${of.length})`).join(', ') || 'none';
        throw new CommandRefused(`${issuer ?? emails[0]} has no links. Users are linked to accounts at these issuers: ${issuers}.`);
      }
      return { data: { unlinked }, lines: unlinked.map((link) => `${link.email} is not linked to ${link.issuer} any more.`) };
    },
  }),

  remove: command({
    arguments: '<EMAIL>',
    summary: 'removes a user from an organisation, or without --organisation from every one, together with the account',
    options: {
      organisation: { value: 'ID', meaning: 'the only organisation that the user leaves' },
      'last-owner': { meaning: 'permits to remove the only owner of an organisation' },
    },
    async run({ positionals: [email], values }, context) {
      const { members, users } = context.stores;
      const { organisation } = values;
      const options = { lastOwner: values['last-owner'] };
      const user = await users.find(email);
      if (user === null) throw noUser(email);
      if (organisation === undefined) {
        const deleted = await members.deleteAccount(user.email, options);
        if (!deleted.ok && deleted.reason === 'not_found') throw noUser(email);
        if (!deleted.ok) throw onlyOwner(user.email, deleted.organisations);
        for (const id of deleted.organisations) await record(context, id, 'user.remove', user.email);
        const from = deleted.organisations.length === 0 ? '' : ` from ${deleted.organisations.join(', ')}`;
        const { left, lines } = await leftIn(context, user.email, deleted.organisations);
        const data = { ...user, organisations: deleted.organisations, ...left };
        return { data, lines: [`Removed ${user.email}${from}, and the account.`, ...lines] };
      }
      const { id } = await findOrganisation(context, organisation);
      const removed = await members.remove(id, user.email, options);
      if (!removed.ok && removed.reason === 'not_found') throw notMember(user.email, id);
      if (!removed.ok) throw onlyOwner(user.email, [id]);
      await record(context, id, 'user.remove', user.email);
      const { left, lines } = await leftIn(context, user.email, [id]);
      return { data: { ...removed.member, ...left }, lines: [`Removed ${user.email} from ${id}. The account still exists.`, ...lines] };
    },
  }),

  role: command({
    arguments: '<EMAIL>',
    summary: 'changes the role of a user',
    options: {
      role: { value: ROLES.join('|'), required: true, meaning: 'the new role' },
      organisation: { value: 'ID', meaning: 'needed if the user belongs to several organisations' },
    },
    async run({ positionals: [email], values }, context) {
      const role = roleOf(values.role);
      const user = await context.stores.users.find(email);
      if (user === null) throw noUser(email);
      const organisations = await organisationsOf(context, user.email);
      const id = values.organisation ?? organisations[0] ?? '';
      if (!organisations.includes(id)) throw notMember(user.email, id === '' ? 'any organisation' : id);
      if (organisations.length > 1 && values.organisation === undefined)
        throw new CommandRefused(`${user.email} belongs to ${organisations.join(', ')}; name one with --organisation.`);
      const changed = await context.stores.members.setRole(id, user.email, role);
      if (!changed.ok && changed.reason === 'not_found') throw notMember(user.email, id);
      if (!changed.ok) throw new CommandRefused(`${user.email} is the only owner; make another user an owner first.`);
      await record(context, id, 'user.role', `${user.email}: ${role}`);
      const { left, lines } = await leftIn(context, user.email, [id]);
      return { data: { ...changed.member, ...left }, lines: [`${user.email} is now ${role} of ${id}.`, ...lines] };
    },
  }),

  left: command({
    arguments: '<EMAIL>',
    summary: 'lists the keys, webhooks and schedules of a user or a former one, with a command that ends each',
    options: ORGANISATION_OPTION,
    async run({ positionals: [email], values }, context) {
      const { id } = await findOrganisation(context, values.organisation);
      const { left, lines } = await leftIn(context, userIdOf(email), [id], { limited: false });
      return { data: left, lines: lines.length === 0 ? [`${email} leaves nothing in ${id}.`] : lines };
    },
  }),

  list: command({
    summary: "lists an organisation's users",
    options: ORGANISATION_OPTION,
    async run({ values }, context) {
      const { id } = await findOrganisation(context, values.organisation);
      const users = await context.stores.members.list(id);
      const rows = users.map((user) => [user.email, user.role, user.createdAt.toISOString(), user.lastSignInAt?.toISOString() ?? 'never']);
      return {
        data: users,
        lines: users.length === 0 ? [`${id} has no users.`] : columns([['EMAIL', 'ROLE', 'CREATED', 'LAST SIGN-IN'], ...rows]),
      };
    },
  }),
};
