/** `curbcut-admin organisation ensure`: the first organisation of an installation, for scripts that run more than once. */
import { isEmailAddress } from '../../core/email-address.ts';
import { DEFAULT_PLAN, type ManagedBy, MANAGERS, type Organisation } from '../../core/organisation.ts';
import {
  ACTOR,
  type AdminContext,
  argument,
  type Command,
  CommandRefused,
  findOrganisation,
  issueKey,
  namespacesOf,
  option,
  organisationRefused,
  pagesOf,
  record,
  requiredOption,
} from './command.ts';
import { acceptedPassword } from './user.ts';

/** `curbcut-admin organisation hand-over`: changes the writer of an organisation. What the commands call the writers of organisations. */
export const WRITERS: Readonly<Record<ManagedBy, string>> = { manifest: 'manifest', admin: 'curbcut-admin' };

/** What happens after each direction of `hand-over`. */
function nextStep(id: string, to: ManagedBy, { blocked }: Organisation): string[] {
  if (to === 'manifest')
    return [`From now on its Organisation manifest sets it. If no manifest exists yet, apply one with the name ${id}.`];
  const lines = [
    'An Organisation manifest of this name changes nothing any more, and its webhooks are deleted. You can delete it; the organisation stays.',
  ];
  return blocked ? [...lines, `The organisation is blocked. To unblock it, run: curbcut-admin organisation unblock ${id}`] : lines;
}

export const HAND_OVER: Command = {
  usage: `ID --to ${MANAGERS.join('|')}`,
  summary: 'makes its Organisation manifest, or curbcut-admin, the only one that may change the organisation',
  options: { to: { type: 'string' } },
  async run(given, context) {
    const id = argument(given, 0, 'The ID');
    const text = requiredOption(given, 'to');
    const to = MANAGERS.find((manager) => manager === text);
    if (to === undefined) throw new CommandRefused(`--to must be ${MANAGERS.join(' or ')}, not ${text}.`, true);
    const handed = await context.stores.organisations.handOver(id, to);
    if (!handed.ok) throw organisationRefused(id, handed);
    // The manifest was their only writer.
    if (to === 'admin') await context.stores.webhooks.declare(id, []);
    if (handed.changed) await record(context, id, 'organisation.hand-over', `to ${WRITERS[to]}`);
    return {
      data: handed.organisation,
      lines: [
        `Organisation ${id} ${handed.changed ? 'is now' : 'was already'} managed by ${to === 'manifest' ? 'its manifest' : WRITERS[to]}.`,
        ...nextStep(id, to, handed.organisation),
      ],
    };
  },
};

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

/** Returns the current key if it is live and belongs to the organisation, else a new one. */
async function ensureKey(context: AdminContext, organisation: string, name: string, current: string): Promise<string> {
  const { keys } = context.stores;
  if (current !== '' && (await keys.recognise(current))?.organisation.id === organisation) return current;
  return (await issueKey(context, { organisation, name, expiresAt: null })).secret;
}

/** Adds an owner unless the user exists. @returns whether the user has this password */
async function ensureOwner(context: AdminContext, organisation: string, email: string, password: string): Promise<boolean> {
  if (!isEmailAddress(email)) throw new CommandRefused(`${email} is not an email address.`);
  if (password === '') throw new CommandRefused('Standard input contains no password.');
  const { users, members } = context.stores;
  const user = await users.find(email);
  if (user !== null && (await members.find(organisation, email)) === null)
    throw new CommandRefused(
      `user ${user.email} exists and does not belong to organisation ${organisation}; run "curbcut-admin user add" first`,
    );
  if (user !== null) return (await users.verify(email, password)) !== null;
  const added = await users.add({ email, organisation, password: acceptedPassword(password, [email, organisation]), createdBy: ACTOR });
  if (!added.ok) throw new CommandRefused(`user ${added.email} already exists`);
  await record(context, organisation, 'user.add', added.user.email);
  return true;
}

export const ENSURE: Command = {
  usage: 'ID --credits PAGES --key-name TEXT [--key-stdin] [--owner EMAIL] [--name TEXT] [--plan TEXT] [--namespaces A,B]',
  summary:
    'creates an organisation, its first credits, a key and an owner if they do not exist. Standard input has a line for each: with --key-stdin a key, which is kept if it is still live; with --owner the password of the owner. A manifest that manages the organisation grants its credits instead',
  options: {
    name: { type: 'string' },
    plan: { type: 'string' },
    namespaces: { type: 'string' },
    credits: { type: 'string' },
    'key-name': { type: 'string' },
    'key-stdin': { type: 'boolean' },
    owner: { type: 'string' },
  },
  async run(given, context) {
    const { stores } = context;
    const id = argument(given, 0, 'The ID');
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
    const [readKey, owner] = [given.values['key-stdin'] === true, option(given, 'owner')];
    const lines = readKey || owner !== undefined ? (await context.readInput()).split(/\r?\n/) : [];
    const key = await ensureKey(context, id, keyName, readKey ? (lines.shift() ?? '').trim() : '');
    const hasPassword = owner !== undefined && (await ensureOwner(context, id, owner, lines.shift() ?? ''));
    return {
      data: { organisation: id, key, ...(owner !== undefined && { owner: { email: owner, hasPassword } }) },
      lines: [
        `Organisation: ${id}`,
        `Key: ${key}`,
        ...(owner === undefined ? [] : [`Owner: ${owner}${hasPassword ? '' : ' (with another password)'}`]),
      ],
    };
  },
};
