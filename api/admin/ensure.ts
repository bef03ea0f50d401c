/** `curbcut-admin organisation ensure`: the first organisation of an installation, for scripts that run more than once. */
import { isEmailAddress } from '../../core/email-address.ts';
import { DEFAULT_PLAN, type ManagedBy, MANAGERS, type Organisation } from '../../core/organisation.ts';
import {
  ACTOR,
  type AdminContext,
  command,
  CommandRefused,
  findOrganisation,
  issueKey,
  namespacesOf,
  organisationRefused,
  pagesOf,
  record,
  type Values,
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

export const HAND_OVER = command({
  arguments: '<ID>',
  summary: 'makes its Organisation manifest, or curbcut-admin, the only one that may change the organisation',
  options: { to: { value: MANAGERS.join('|'), required: true, meaning: 'its new writer' } },
  async run({ positionals: [id], values }, context) {
    const to = MANAGERS.find((manager) => manager === values.to);
    if (to === undefined) throw new CommandRefused(`--to must be ${MANAGERS.join(' or ')}, not ${values.to}.`, true);
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
});

export const NEW_ORGANISATION = {
  name: { value: 'TEXT', meaning: 'what people read; default: the ID' },
  plan: { value: 'TEXT', meaning: `default: ${DEFAULT_PLAN}` },
  namespaces: { value: 'A,B', meaning: 'the Kubernetes namespaces whose scans are charged to it' },
} as const;

export const newOrganisation = (id: string, { name = id, plan = DEFAULT_PLAN, namespaces = '' }: Values<typeof NEW_ORGANISATION>) => ({
  id,
  displayName: name,
  plan,
  namespaces: namespacesOf([namespaces]),
});

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

export const ENSURE = command({
  arguments: '<ID>',
  summary:
    'creates an organisation, its first credits, a key and an owner if they do not exist. Standard input has a line for each: with --key-stdin a key, which is kept if it is still live; with --owner the password of the owner. A manifest that manages the organisation grants its credits instead',
  options: {
    credits: { value: 'PAGES', required: true, meaning: 'credits to begin with, one for each page' },
    'key-name': { value: 'TEXT', required: true, meaning: 'the name of the key' },
    'key-stdin': { meaning: 'read the current key from standard input' },
    owner: { value: 'EMAIL', meaning: 'the first owner, whose password is read from standard input' },
    ...NEW_ORGANISATION,
  },
  async run({ positionals: [id], values }, context) {
    const { stores } = context;
    const pages = pagesOf(values.credits);
    const organisation = await ensureOrganisation(context, newOrganisation(id, values));
    // A manifest also grants the credits of its organisation.
    if (organisation.managedBy === 'admin' && (await stores.credits.grant(id, GRANT, pages)))
      await record(context, id, 'organisation.grant', `${GRANT}: ${pages} pages`);
    const { 'key-name': keyName, 'key-stdin': readKey, owner } = values;
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
});
