/** `curbcut-admin user …`: people who may sign in for an organisation. */
import {
  ACTOR,
  CommandRefused,
  argument,
  columns,
  existing,
  needed,
  noMore,
  type Arguments,
  type Command,
  type AdminContext,
} from './command.ts';

const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;

/** A password from standard input, or one that is made up and shown once: never an argument, which every process can read. */
async function passwordFor(given: Arguments, context: AdminContext): Promise<{ password: string; generated: boolean }> {
  if (given.values['password-stdin'] !== true) return { password: context.randomWord(), generated: true };
  const password = (await context.readInput()).replace(/\r?\n$/, '');
  if (password === '') throw new CommandRefused('There is no password on standard input.');
  return { password, generated: false };
}

const told = ({ password, generated }: { password: string; generated: boolean }): string[] =>
  generated ? [`Password: ${password}`, 'It is shown only now.'] : [];

export const USER: Record<string, Command> = {
  add: {
    usage: 'EMAIL --organisation ID [--password-stdin]',
    summary: 'a new account; without --password-stdin its password is made up and shown once',
    options: { organisation: { type: 'string' }, 'password-stdin': { type: 'boolean' } },
    async run(given, context) {
      const email = argument(given, 0, 'The EMAIL');
      noMore(given, 1);
      if (!EMAIL.test(email)) throw new CommandRefused(`${email} is no e-mail address.`);
      const { id } = await existing(context, needed(given, 'organisation'));
      const secret = await passwordFor(given, context);
      const user = await context.stores.users.add({ email, organisation: id, password: secret.password });
      await context.stores.organisations.record({ organisation: id, actor: ACTOR, action: 'user.add', subject: user.email });
      return {
        data: { ...user, ...(secret.generated && { password: secret.password }) },
        lines: [`Added ${user.email} to ${id}.`, ...told(secret)],
      };
    },
  },

  'reset-password': {
    usage: 'EMAIL [--password-stdin]',
    summary: 'a new password',
    options: { 'password-stdin': { type: 'boolean' } },
    async run(given, context) {
      const email = argument(given, 0, 'The EMAIL');
      noMore(given, 1);
      const user = await context.stores.users.find(email);
      if (user === null) throw new CommandRefused(`Nobody has the address ${email}.`);
      const secret = await passwordFor(given, context);
      await context.stores.users.resetPassword(user.email, secret.password);
      await context.stores.organisations.record({
        organisation: user.organisation,
        actor: ACTOR,
        action: 'user.reset-password',
        subject: user.email,
      });
      return {
        data: { email: user.email, ...(secret.generated && { password: secret.password }) },
        lines: [`${user.email} has a new password.`, ...told(secret)],
      };
    },
  },

  remove: {
    usage: 'EMAIL',
    summary: 'takes an account away',
    async run(given, context) {
      const email = argument(given, 0, 'The EMAIL');
      noMore(given, 1);
      const user = await context.stores.users.remove(email);
      if (user === null) throw new CommandRefused(`Nobody has the address ${email}.`);
      await context.stores.organisations.record({
        organisation: user.organisation,
        actor: ACTOR,
        action: 'user.remove',
        subject: user.email,
      });
      return { data: user, lines: [`Removed ${user.email} from ${user.organisation}.`] };
    },
  },

  list: {
    usage: '--organisation ID',
    summary: "an organisation's people",
    options: { organisation: { type: 'string' } },
    async run(given, context) {
      noMore(given, 0);
      const { id } = await existing(context, needed(given, 'organisation'));
      const users = await context.stores.users.list(id);
      const rows = users.map((user) => [user.email, user.createdAt.toISOString()]);
      return { data: users, lines: users.length === 0 ? [`Nobody may sign in for ${id}.`] : columns([['EMAIL', 'CREATED'], ...rows]) };
    },
  },
};
