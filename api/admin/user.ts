/** `curbcut-admin user …`: the users of an organisation, who can sign in. */
import { DEFAULT_ROLE, ROLES, type Role } from '../../core/accounts.ts';
import { isEmailAddress } from '../../core/email-address.ts';
import { PASSWORD_PROBLEMS, passwordProblem } from '../../core/passwords.ts';
import {
  ACTOR,
  CommandRefused,
  argument,
  columns,
  findOrganisation,
  option,
  record,
  requiredOption,
  rejectExtra,
  type Arguments,
  type Command,
  type AdminContext,
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

/** Reads the password from standard input, or generates one. It is never an argument, because all processes can read those. */
async function passwordFor(
  given: Arguments,
  context: AdminContext,
  known: readonly string[],
): Promise<{ password: string; generated: boolean }> {
  if (given.values['password-stdin'] !== true) return { password: context.randomToken(), generated: true };
  const typed = (await context.readInput()).replace(/\r?\n$/, '');
  return { password: acceptedPassword(typed, known), generated: false };
}

/** @throws CommandRefused if there is no such role */
function roleOf(text: string): Role {
  const role = ROLES.find((one) => one === text);
  if (role === undefined) throw new CommandRefused(`--role must be ${ROLES.join(', ').replace(/, (?=\w+$)/, ' or ')}, not ${text}.`, true);
  return role;
}

const noUser = (email: string): CommandRefused => new CommandRefused(`No user has the address ${email}.`);

const passwordLines = ({ password, generated }: { password: string; generated: boolean }): string[] =>
  generated ? [`Password: ${password}`, 'Save the password now: it is not shown again.'] : [];

export const USER: Record<string, Command> = {
  add: {
    usage: `EMAIL --organisation ID [--role ${ROLES.join('|')}] [--password-stdin]`,
    summary: `adds a user, by default with the role ${DEFAULT_ROLE}; without --password-stdin, generates a password and shows it once`,
    options: { organisation: { type: 'string' }, role: { type: 'string' }, 'password-stdin': { type: 'boolean' } },
    async run(given, context) {
      const email = argument(given, 0, 'The EMAIL');
      rejectExtra(given, 1);
      if (!isEmailAddress(email)) throw new CommandRefused(`${email} is not an email address.`);
      const role = roleOf(option(given, 'role') ?? DEFAULT_ROLE);
      const { id, displayName } = await findOrganisation(context, requiredOption(given, 'organisation'));
      const secret = await passwordFor(given, context, [email, id, displayName]);
      const added = await context.stores.users.add({ email, organisation: id, password: secret.password, role, createdBy: ACTOR });
      if (!added.ok) throw new CommandRefused(`user ${added.email} already exists`);
      const { user } = added;
      await record(context, id, 'user.add', user.email);
      return {
        data: { ...user, ...(secret.generated && { password: secret.password }) },
        lines: [`Added ${user.email} to ${id} as ${role}.`, ...passwordLines(secret)],
      };
    },
  },

  'reset-password': {
    usage: 'EMAIL [--password-stdin]',
    summary: 'sets a new password and ends all sessions of the user',
    options: { 'password-stdin': { type: 'boolean' } },
    async run(given, context) {
      const email = argument(given, 0, 'The EMAIL');
      rejectExtra(given, 1);
      const user = await context.stores.users.find(email);
      if (user === null) throw noUser(email);
      const secret = await passwordFor(given, context, [user.email, user.organisation]);
      await context.stores.users.resetPassword(user.email, secret.password);
      await record(context, user.organisation, 'user.reset-password', user.email);
      return {
        data: { email: user.email, ...(secret.generated && { password: secret.password }) },
        lines: [`${user.email} has a new password.`, ...passwordLines(secret)],
      };
    },
  },

  'reset-second-factor': {
    usage: 'EMAIL',
    summary:
      'removes the passkeys, the authenticator app and the recovery codes of a user who has lost them, and ends all sessions of the user',
    async run(given, context) {
      const email = argument(given, 0, 'The EMAIL');
      rejectExtra(given, 1);
      const { users, secondFactors } = context.stores;
      const user = await users.find(email);
      if (user === null) throw noUser(email);
      const removed = await secondFactors.reset(user.email);
      await users.endSessions(user.email);
      if (removed) await record(context, user.organisation, 'user.reset-second-factor', user.email);
      const line = removed ? `${user.email} has no second factor any more.` : `${user.email} had no second factor.`;
      return { data: { email: user.email, removed }, lines: [line] };
    },
  },

  remove: {
    usage: 'EMAIL [--last-owner]',
    summary: 'removes a user and ends all sessions of the user; --last-owner permits to remove the only owner of an organisation',
    options: { 'last-owner': { type: 'boolean' } },
    async run(given, context) {
      const email = argument(given, 0, 'The EMAIL');
      rejectExtra(given, 1);
      const removed = await context.stores.users.remove(email, { lastOwner: given.values['last-owner'] === true });
      if (!removed.ok && removed.reason === 'not_found') throw noUser(email);
      if (!removed.ok)
        throw new CommandRefused(`${email} is the only owner; add another owner first, or repeat the command with --last-owner.`);
      const { user } = removed;
      await record(context, user.organisation, 'user.remove', user.email);
      return { data: user, lines: [`Removed ${user.email} from ${user.organisation}.`] };
    },
  },

  role: {
    usage: `EMAIL --role ${ROLES.join('|')}`,
    summary: 'changes the role of a user',
    options: { role: { type: 'string' } },
    async run(given, context) {
      const email = argument(given, 0, 'The EMAIL');
      rejectExtra(given, 1);
      const role = roleOf(requiredOption(given, 'role'));
      const user = await context.stores.users.find(email);
      if (user === null) throw noUser(email);
      const changed = await context.stores.users.setRole(user.organisation, user.email, role);
      if (!changed.ok && changed.reason === 'not_found') throw noUser(email);
      if (!changed.ok) throw new CommandRefused(`${user.email} is the only owner; make another user an owner first.`);
      await record(context, user.organisation, 'user.role', `${user.email}: ${role}`);
      return { data: changed.user, lines: [`${user.email} is now ${role} of ${user.organisation}.`] };
    },
  },

  list: {
    usage: '--organisation ID',
    summary: "lists an organisation's users",
    options: { organisation: { type: 'string' } },
    async run(given, context) {
      rejectExtra(given, 0);
      const { id } = await findOrganisation(context, requiredOption(given, 'organisation'));
      const users = await context.stores.users.list(id);
      const rows = users.map((user) => [user.email, user.role, user.createdAt.toISOString(), user.lastSignInAt?.toISOString() ?? 'never']);
      return {
        data: users,
        lines: users.length === 0 ? [`${id} has no users.`] : columns([['EMAIL', 'ROLE', 'CREATED', 'LAST SIGN-IN'], ...rows]),
      };
    },
  },
};
