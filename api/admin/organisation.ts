/** `curbcut-admin organisation …`: organisations, their credits and their namespaces. */
import {
  argument,
  columns,
  type Command,
  CommandRefused,
  findOrganisation,
  liveKeys,
  managedByManifest,
  namespacesOf,
  option,
  organisationRefused,
  pagesOf,
  record,
} from './command.ts';
import { DEFAULT_PLAN, type Organisation } from '../../core/organisation.ts';
import { ENSURE, HAND_OVER, WRITERS } from './ensure.ts';

const AUDIT_SHOWN = 10;

const writerOf = ({ managedBy }: Organisation): string => WRITERS[managedBy];

function stateOf({ blocked, deletedAt }: Organisation): string {
  if (deletedAt !== null) return 'deleted';
  return blocked ? 'blocked' : 'open';
}

const listed = (names: readonly string[]): string => (names.length === 0 ? 'none' : names.join(', '));

export const ORGANISATION: Record<string, Command> = {
  add: {
    usage: 'ID [--name TEXT] [--plan TEXT] [--namespaces A,B]',
    summary: 'adds an organisation; ID consists of a-z, 0-9 and -',
    options: { name: { type: 'string' }, plan: { type: 'string' }, namespaces: { type: 'string' } },
    async run(given, context) {
      const { stores } = context;
      const id = argument(given, 0, 'The ID');
      const added = await stores.organisations.add({
        id,
        displayName: option(given, 'name') ?? id,
        plan: option(given, 'plan') ?? DEFAULT_PLAN,
        namespaces: namespacesOf([option(given, 'namespaces') ?? '']),
      });
      if (!added.ok) throw organisationRefused(id, added);
      await stores.credits.open(id);
      await record(context, id, 'organisation.add', id);
      return {
        data: added.organisation,
        lines: [`Added organisation ${id}. To add credits, run: curbcut-admin organisation grant ${id} PAGES`],
      };
    },
  },

  list: {
    usage: '',
    summary: 'lists all organisations',
    async run(given, { stores }) {
      const all = await stores.organisations.list();
      const rows = await Promise.all(all.map(async (one) => ({ ...one, balance: (await stores.credits.balance(one.id)).balance })));
      const table = rows.map((row) => [
        row.id,
        row.displayName,
        row.plan,
        String(row.balance),
        stateOf(row),
        writerOf(row),
        listed(row.namespaces),
      ]);
      return {
        data: rows,
        lines:
          all.length === 0
            ? ['There are no organisations.']
            : columns([['ID', 'NAME', 'PLAN', 'CREDITS', 'STATE', 'MANAGED BY', 'NAMESPACES'], ...table]),
      };
    },
  },

  show: {
    usage: 'ID',
    summary: 'shows an organisation with its credits, keys, users and latest changes',
    async run(given, context) {
      const { stores } = context;
      const organisation = await findOrganisation(context, argument(given, 0, 'The ID'));
      const { id } = organisation;
      const [balance, keys, users, audit] = await Promise.all([
        stores.credits.balance(id),
        liveKeys(context, id),
        stores.members.list(id),
        stores.organisations.audit(id, AUDIT_SHOWN),
      ]);
      return {
        data: { ...organisation, credits: balance, keys, users, audit },
        lines: [
          ...columns([
            ['ID', id],
            ['Name', organisation.displayName],
            ['Plan', organisation.plan],
            ['State', stateOf(organisation)],
            ['Managed by', writerOf(organisation)],
            ['Second factor', organisation.requireSecondFactor ? 'required' : 'optional'],
            ['Namespaces', listed(organisation.namespaces)],
            ['Credits', `${balance.balance} available, ${balance.held} held, ${balance.spent} spent, ${balance.granted} granted`],
            ['Keys', String(keys.length)],
            ['Users', users.length === 0 ? 'none' : users.map(({ email }) => email).join(', ')],
            ['Created', organisation.createdAt.toISOString()],
          ]),
          ...(audit.length === 0 ? [] : ['', 'Latest changes']),
          ...columns(audit.map((entry) => [`  ${entry.at.toISOString()}`, entry.actor, entry.action, entry.subject ?? ''])),
        ],
      };
    },
  },

  grant: {
    usage: 'ID PAGES [--id GRANT]',
    summary: 'adds credits, one per page; a repeated GRANT adds nothing',
    options: { id: { type: 'string' } },
    async run(given, context) {
      const { stores } = context;
      const organisation = await findOrganisation(context, argument(given, 0, 'The ID'));
      const text = argument(given, 1, 'The number of PAGES');
      if (organisation.managedBy === 'manifest') throw managedByManifest(organisation.id);
      const pages = pagesOf(text);
      const grant = option(given, 'id') ?? context.randomToken();
      // Before the credits are added: a caller that gets no answer repeats the command with this ID, which adds them once.
      if (option(given, 'id') === undefined)
        context.warn(`Grant ID: ${grant}. If this command fails, repeat it with --id ${grant}, so that the credits are added only once.`);
      const added = await stores.credits.grant(organisation.id, grant, pages);
      if (added) await record(context, organisation.id, 'organisation.grant', `${grant}: ${pages} pages`);
      const { balance } = await stores.credits.balance(organisation.id);
      return {
        data: { organisation: organisation.id, grant, pages, added, balance },
        lines: [added ? `Granted ${pages} pages (${grant}); ${balance} available.` : `${grant} was granted before; ${balance} available.`],
      };
    },
  },

  ensure: ENSURE,
  'hand-over': HAND_OVER,

  block: blocking(true, 'rejects requests with its keys (403) until it is unblocked'),
  unblock: blocking(false, 'accepts requests with its keys again'),

  'require-second-factor': {
    usage: 'ID [--off]',
    summary: 'lets people of the organisation only set up a second factor until they have one; with --off, makes it optional again',
    options: { off: { type: 'boolean' } },
    async run(given, context) {
      const { id } = await findOrganisation(context, argument(given, 0, 'The ID'));
      const required = given.values.off !== true;
      await context.stores.organisations.setRequireSecondFactor(id, required);
      await record(context, id, 'organisation.second-factor', required ? 'required' : 'optional');
      return {
        data: { organisation: id, requireSecondFactor: required },
        lines: [`${id}: a second factor is ${required ? 'required' : 'optional'}.`],
      };
    },
  },

  namespaces: {
    usage: 'ID [NAMESPACE…] [--none]',
    summary: 'replaces the Kubernetes namespaces whose scans are charged to the organisation; without NAMESPACE, shows them',
    options: { none: { type: 'boolean' } },
    async run(given, context) {
      const { stores } = context;
      const organisation = await findOrganisation(context, argument(given, 0, 'The ID'));
      const names = namespacesOf(given.positionals.slice(1));
      const none = given.values.none === true;
      if (none && names.length > 0) throw new CommandRefused('--none cannot be combined with namespaces.', true);
      if (!none && names.length === 0) {
        const { id, namespaces } = organisation;
        return { data: { organisation: id, namespaces }, lines: [`Namespaces of ${id}: ${listed(namespaces)}.`] };
      }
      const changed = await stores.organisations.setNamespaces(organisation.id, names);
      if (!changed.ok) throw organisationRefused(organisation.id, changed);
      await record(context, organisation.id, 'organisation.namespaces', listed(names));
      return { data: { organisation: organisation.id, namespaces: names }, lines: [`Namespaces of ${organisation.id}: ${listed(names)}.`] };
    },
  },
};

function blocking(blocked: boolean, summary: string): Command {
  return {
    usage: 'ID',
    summary,
    async run(given, context) {
      const { id } = await findOrganisation(context, argument(given, 0, 'The ID'));
      const changed = await context.stores.organisations.setBlocked(id, blocked);
      if (!changed.ok) throw organisationRefused(id, changed);
      await record(context, id, blocked ? 'organisation.block' : 'organisation.unblock', id);
      return { data: { organisation: id, blocked }, lines: [`Organisation ${id} is ${blocked ? 'blocked' : 'open'}.`] };
    },
  };
}
