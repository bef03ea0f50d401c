/** `curbcut-admin user …`: people who may sign in for an organisation. */
import { ACTOR, Refused, argument, columns, existing, needed, noMore, type Arguments, type Command, type World } from './command.ts';

const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;

/** A password from standard input, or one that is made up and shown once: never an argument, which every process can read. */
async function passwordFor(given: Arguments, world: World): Promise<{ password: string; generated: boolean }> {
  if (given.values['password-stdin'] !== true) return { password: world.randomWord(), generated: true };
  const password = (await world.readInput()).replace(/\r?\n$/, '');
  if (password === '') throw new Refused('There is no password on standard input.');
  return { password, generated: false };
}

const told = ({ password, generated }: { password: string; generated: boolean }): string[] =>
  generated ? [`Password: ${password}`, 'It is shown only now.'] : [];

export const USER: Record<string, Command> = {
  add: {
    usage: 'EMAIL --organisation ID [--password-stdin]',
    summary: 'a new account; without --password-stdin its password is made up and shown once',
    options: { organisation: { type: 'string' }, 'password-stdin': { type: 'boolean' } },
    async run(given, world) {
      const email = argument(given, 0, 'The EMAIL');
      noMore(given, 1);
      if (!EMAIL.test(email)) throw new Refused(`${email} is no e-mail address.`);
      const { id } = await existing(world, needed(given, 'organisation'));
      const secret = await passwordFor(given, world);
      const user = await world.stores.users.add({ email, organisation: id, password: secret.password });
      await world.stores.organisations.record({ organisation: id, actor: ACTOR, action: 'user.add', subject: user.email });
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
    async run(given, world) {
      const email = argument(given, 0, 'The EMAIL');
      noMore(given, 1);
      const user = await world.stores.users.find(email);
      if (user === null) throw new Refused(`Nobody has the address ${email}.`);
      const secret = await passwordFor(given, world);
      await world.stores.users.resetPassword(user.email, secret.password);
      await world.stores.organisations.record({
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
    async run(given, world) {
      const email = argument(given, 0, 'The EMAIL');
      noMore(given, 1);
      const user = await world.stores.users.remove(email);
      if (user === null) throw new Refused(`Nobody has the address ${email}.`);
      await world.stores.organisations.record({
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
    async run(given, world) {
      noMore(given, 0);
      const { id } = await existing(world, needed(given, 'organisation'));
      const users = await world.stores.users.list(id);
      const rows = users.map((user) => [user.email, user.createdAt.toISOString()]);
      return { data: users, lines: users.length === 0 ? [`Nobody may sign in for ${id}.`] : columns([['EMAIL', 'CREATED'], ...rows]) };
    },
  },
};
