/** `curbcut-admin organisation …`: organisations, their credits and their namespaces. */
import {
  columns,
  command,
  type Command,
  CommandRefused,
  findOrganisation,
  liveKeys,
  managedByManifest,
  namespacesOf,
  organisationRefused,
  pagesOf,
  record,
} from './command.ts';
import type { Organisation } from '../../core/organisation.ts';
import type { Purge } from '../../stores/accounts/purge.ts';
import { ENSURE, HAND_OVER, NEW_ORGANISATION, newOrganisation, WRITERS } from './ensure.ts';

const AUDIT_SHOWN = 10;

const writerOf = ({ managedBy }: Organisation): string => WRITERS[managedBy];

function stateOf({ blocked, deletedAt }: Organisation): string {
  if (deletedAt !== null) return 'deleted';
  return blocked ? 'blocked' : 'open';
}

const NOT_PURGED: Readonly<Record<Extract<Purge, { ok: false }>['reason'], (id: string) => string>> = {
  not_found: (id) => `Organisation ${id} does not exist.`,
  open: (id) =>
    `Organisation ${id} is in use: delete its Organisation object first. If there is none, run ` +
    `"curbcut-admin organisation hand-over ${id} --to admin", then "curbcut-admin organisation block ${id}".`,
  scans_live: (id) => `Scans of organisation ${id} are live: cancel them, or wait until they have ended.`,
  reopened: (id) => `Organisation ${id} was unblocked or handed over meanwhile, so a part of it is left: block it, then purge it again.`,
};

const listed = (names: readonly string[]): string => (names.length === 0 ? 'none' : names.join(', '));

export const ORGANISATION: Record<string, Command> = {
  add: command({
    arguments: '<ID>',
    summary: 'adds an organisation; ID consists of a-z, 0-9 and -',
    options: NEW_ORGANISATION,
    async run({ positionals: [id], values }, context) {
      const { stores } = context;
      const added = await stores.organisations.add(newOrganisation(id, values));
      if (!added.ok) throw organisationRefused(id, added);
      await stores.credits.open(id);
      await record(context, id, 'organisation.add', id);
      return {
        data: added.organisation,
        lines: [`Added organisation ${id}. To add credits, run: curbcut-admin organisation grant ${id} PAGES`],
      };
    },
  }),

  list: command({
    summary: 'lists all organisations',
    async run(_given, { stores }) {
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
  }),

  show: command({
    arguments: '<ID>',
    summary: 'shows an organisation with its credits, keys, users and latest changes',
    async run({ positionals: [id] }, context) {
      const { stores } = context;
      const organisation = await findOrganisation(context, id);
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
  }),

  grant: command({
    arguments: '<ID> <PAGES>',
    summary: 'adds credits, one per page; a repeated GRANT adds nothing',
    options: { id: { value: 'GRANT', meaning: 'the ID of the grant; default: a random one, which is printed' } },
    async run({ positionals: [id, text], values }, context) {
      const { stores } = context;
      const organisation = await findOrganisation(context, id);
      if (organisation.managedBy === 'manifest') throw managedByManifest(organisation.id);
      const pages = pagesOf(text);
      const grant = values.id ?? context.randomToken();
      // Before the credits are added: a caller that gets no answer repeats the command with this ID, which adds them once.
      if (values.id === undefined)
        context.warn(`Grant ID: ${grant}. If this command fails, repeat it with --id ${grant}, so that the credits are added only once.`);
      const added = await stores.credits.grant(organisation.id, grant, pages);
      if (added) await record(context, organisation.id, 'organisation.grant', `${grant}: ${pages} pages`);
      const { balance } = await stores.credits.balance(organisation.id);
      return {
        data: { organisation: organisation.id, grant, pages, added, balance },
        lines: [added ? `Granted ${pages} pages (${grant}); ${balance} available.` : `${grant} was granted before; ${balance} available.`],
      };
    },
  }),

  ensure: ENSURE,
  'hand-over': HAND_OVER,

  restore: command({
    arguments: '[ID...]',
    summary: 'lets the next Organisation object of the name have a deleted organisation: members, scans, reports and credits come back',
    options: { all: { meaning: 'every organisation that a manifest manages, after the cluster was built again' } },
    async run({ positionals, values: { all } }, context) {
      const { organisations } = context.stores;
      if (all === positionals.length > 0) throw new CommandRefused('Name organisations, or use --all.', true);
      const managed = (await organisations.list()).filter(({ managedBy }) => managedBy === 'manifest');
      const unknown = positionals.find((id) => !managed.some((one) => one.id === id));
      if (unknown !== undefined) throw new CommandRefused(`No manifest has managed an organisation ${unknown}.`);
      // Where a cluster is built again nothing was deleted. What was deleted by its owner comes back by its name only.
      const ids = all ? managed.filter(({ deletedAt }) => deletedAt === null).map(({ id }) => id) : positionals;
      for (const id of ids) if (await organisations.restore(id)) await record(context, id, 'organisation.restore', id);
      return { data: { restored: ids }, lines: [`The next Organisation object has its organisation again: ${listed(ids)}.`] };
    },
  }),

  purge: command({
    arguments: '<ID>',
    summary: 'deletes a deleted or blocked organisation for good: its members, keys, scans and reports. Only numbers of the ledger stay',
    options: { confirm: { value: 'ID', required: true, meaning: 'the ID again' } },
    async run({ positionals: [id], values: { confirm } }, context) {
      if (confirm !== id) throw new CommandRefused(`--confirm must be ${id}: purging cannot be undone.`, true);
      const purged = await context.stores.organisations.purge(id);
      if (!purged.ok) throw new CommandRefused(NOT_PURGED[purged.reason](id));
      const { scans, schedules } = purged;
      const left = schedules.map(
        (one) => `Its schedule ${one} starts no scans. Run: kubectl delete scanschedule -n ${one.replace('/', ' ')}`,
      );
      return {
        data: { organisation: id, scans, schedules },
        lines: [`Purged organisation ${id}. The operator deletes the reports of its ${scans} scans within minutes.`, ...left],
      };
    },
  }),

  block: blocking(true, 'rejects requests with its keys (403) until it is unblocked'),
  unblock: blocking(false, 'accepts requests with its keys again'),

  'require-second-factor': command({
    arguments: '<ID>',
    summary: 'lets users of the organisation only set up a second factor until they have one',
    options: { off: { meaning: 'makes it optional again' } },
    async run({ positionals: [id], values }, context) {
      await findOrganisation(context, id);
      const required = !values.off;
      await context.stores.organisations.setRequireSecondFactor(id, required);
      await record(context, id, 'organisation.second-factor', required ? 'required' : 'optional');
      return {
        data: { organisation: id, requireSecondFactor: required },
        lines: [`${id}: a second factor is ${required ? 'required' : 'optional'}.`],
      };
    },
  }),

  namespaces: command({
    arguments: '<ID> [NAMESPACE...]',
    summary: 'replaces the Kubernetes namespaces whose scans are charged to the organisation; without NAMESPACE, shows them',
    options: { none: { meaning: 'removes all of them' } },
    async run({ positionals: [id, ...namespaces], values: { none } }, context) {
      const { stores } = context;
      const organisation = await findOrganisation(context, id);
      const names = namespacesOf(namespaces);
      if (none && names.length > 0) throw new CommandRefused('--none cannot be combined with namespaces.', true);
      if (!none && names.length === 0) {
        const before = organisation.namespaces;
        return { data: { organisation: id, namespaces: before }, lines: [`Namespaces of ${id}: ${listed(before)}.`] };
      }
      const changed = await stores.organisations.setNamespaces(organisation.id, names);
      if (!changed.ok) throw organisationRefused(organisation.id, changed);
      await record(context, organisation.id, 'organisation.namespaces', listed(names));
      return { data: { organisation: organisation.id, namespaces: names }, lines: [`Namespaces of ${organisation.id}: ${listed(names)}.`] };
    },
  }),
};

function blocking(blocked: boolean, summary: string): Command {
  return command({
    arguments: '<ID>',
    summary,
    async run({ positionals: [id] }, context) {
      await findOrganisation(context, id);
      const changed = await context.stores.organisations.setBlocked(id, blocked);
      if (!changed.ok) throw organisationRefused(id, changed);
      await record(context, id, blocked ? 'organisation.block' : 'organisation.unblock', id);
      return { data: { organisation: id, blocked }, lines: [`Organisation ${id} is ${blocked ? 'blocked' : 'open'}.`] };
    },
  });
}
