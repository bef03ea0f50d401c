/** `curbcut-admin user …`: the users of an organisation, who can sign in. */
import {
  CommandRefused,
  argument,
  columns,
  findOrganisation,
  record,
  requiredOption,
  rejectExtra,
  type Arguments,
  type Command,
  type AdminContext,
} from './command.ts';

export const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;

/** Reads the password from standard input, or generates one. It is never an argument, because all processes can read those. */
async function passwordFor(given: Arguments, context: AdminContext): Promise<{ password: string; generated: boolean }> {
  if (given.values['password-stdin'] !== true) return { password: context.randomToken(), generated: true };
  const password = (await context.readInput()).replace(/\r?\n$/, '');
  if (password === '') throw new CommandRefused('Standard input contains no password.');
  return { password, generated: false };
}

const passwordLines = ({ password, generated }: { password: string; generated: boolean }): string[] =>
  generated ? [`Password: ${password}`, 'Save the password now: it is not shown again.'] : [];

export const USER: Record<string, Command> = {
  add: {
    usage: 'EMAIL --organisation ID [--password-stdin]',
    summary: 'adds a user; without --password-stdin, generates a password and shows it once',
    options: { organisation: { type: 'string' }, 'password-stdin': { type: 'boolean' } },
    async run(given, context) {
      const email = argument(given, 0, 'The EMAIL');
      rejectExtra(given, 1);
      if (!EMAIL.test(email)) throw new CommandRefused(`${email} is not an email address.`);
      const { id } = await findOrganisation(context, requiredOption(given, 'organisation'));
      const secret = await passwordFor(given, context);
      const added = await context.stores.users.add({ email, organisation: id, password: secret.password });
      if (!added.ok) throw new CommandRefused(`user ${added.email} already exists`);
      const { user } = added;
      await record(context, id, 'user.add', user.email);
      return {
        data: { ...user, ...(secret.generated && { password: secret.password }) },
        lines: [`Added ${user.email} to ${id}.`, ...passwordLines(secret)],
      };
    },
  },

  'reset-password': {
    usage: 'EMAIL [--password-stdin]',
    summary: 'sets a new password',
    options: { 'password-stdin': { type: 'boolean' } },
    async run(given, context) {
      const email = argument(given, 0, 'The EMAIL');
      rejectExtra(given, 1);
      const user = await context.stores.users.find(email);
      if (user === null) throw new CommandRefused(`No user has the address ${email}.`);
      const secret = await passwordFor(given, context);
      await context.stores.users.resetPassword(user.email, secret.password);
      await record(context, user.organisation, 'user.reset-password', user.email);
      return {
        data: { email: user.email, ...(secret.generated && { password: secret.password }) },
        lines: [`${user.email} has a new password.`, ...passwordLines(secret)],
      };
    },
  },

  remove: {
    usage: 'EMAIL',
    summary: 'removes a user',
    async run(given, context) {
      const email = argument(given, 0, 'The EMAIL');
      rejectExtra(given, 1);
      const user = await context.stores.users.remove(email);
      if (user === null) throw new CommandRefused(`No user has the address ${email}.`);
      await record(context, user.organisation, 'user.remove', user.email);
      return { data: user, lines: [`Removed ${user.email} from ${user.organisation}.`] };
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
      const rows = users.map((user) => [user.email, user.createdAt.toISOString()]);
      return { data: users, lines: users.length === 0 ? [`${id} has no users.`] : columns([['EMAIL', 'CREATED'], ...rows]) };
    },
  },
};
