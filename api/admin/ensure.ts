/** `curbcut-admin organisation ensure`: the first organisation of an installation, for scripts that run more than once. */
import { DEFAULT_PLAN, type Organisation } from '../../core/organisation.ts';
import {
  argument,
  findOrganisation,
  issueKey,
  option,
  organisationRefused,
  record,
  rejectExtra,
  requiredOption,
  type AdminContext,
  type Command,
} from './command.ts';
import { namespacesOf, pagesOf } from './values.ts';

/** The ID of the grant of `--credits`. It is fixed, so that repeating the command grants nothing. */
const GRANT = 'welcome';

async function ensureOrganisation(
  context: AdminContext,
  organisation: Parameters<typeof context.stores.organisations.add>[0],
): Promise<Organisation> {
  const { stores } = context;
  const { id } = organisation;
  const added = await stores.organisations.add(organisation);
  if (added.ok) await record(context, id, 'organisation.add', id);
  else if (added.reason !== 'already_exists') throw organisationRefused(id, added);
  await stores.credits.open(id);
  return added.ok ? added.organisation : findOrganisation(context, id);
}

/** Returns the key on standard input if it is live and belongs to the organisation, else a new one. */
async function ensureKey(context: AdminContext, organisation: string, name: string, readInput: boolean): Promise<string> {
  const { keys } = context.stores;
  const current = readInput ? (await context.readInput()).trim() : '';
  if (current !== '' && (await keys.recognise(current))?.organisation.id === organisation) return current;
  return (await issueKey(context, { organisation, name, expiresAt: null })).secret;
}

export const ENSURE: Command = {
  usage: 'ID --credits PAGES --key-name TEXT [--key-stdin] [--name TEXT] [--plan TEXT] [--namespaces A,B]',
  summary:
    'creates an organisation, its first credits and a key if they do not exist; --key-stdin keeps a key that is still live. A manifest that manages the organisation grants its credits instead',
  options: {
    name: { type: 'string' },
    plan: { type: 'string' },
    namespaces: { type: 'string' },
    credits: { type: 'string' },
    'key-name': { type: 'string' },
    'key-stdin': { type: 'boolean' },
  },
  async run(given, context) {
    const { stores } = context;
    const id = argument(given, 0, 'The ID');
    rejectExtra(given, 1);
    const pages = pagesOf(requiredOption(given, 'credits'));
    const keyName = requiredOption(given, 'key-name');
    const organisation = await ensureOrganisation(context, {
      id,
      displayName: option(given, 'name') ?? id,
      plan: option(given, 'plan') ?? DEFAULT_PLAN,
      namespaces: namespacesOf([option(given, 'namespaces') ?? '']),
    });
    // A manifest also grants the credits of its organisation.
    if (organisation.managedBy === 'admin' && (await stores.credits.grant(id, GRANT, pages)))
      await record(context, id, 'organisation.grant', `${GRANT}: ${pages} pages`);
    const key = await ensureKey(context, id, keyName, given.values['key-stdin'] === true);
    return { data: { organisation: id, key }, lines: [`Organisation: ${id}`, `Key: ${key}`] };
  },
};
