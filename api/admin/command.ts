/** Types and helpers of the commands of `curbcut-admin`. */
import { randomUUID } from 'node:crypto';
import type { AccountNotice } from '../../core/audit-actions.ts';
import { errorMessage } from '../../platform/errors.ts';
import { LIVE_KEYS_MAX } from '../../stores/accounts/key-slots.ts';
import type { NewAuditEntry } from '../../stores/accounts/audit.ts';
import { keyEntries } from '../../stores/accounts/key-entries.ts';
import type { ApiKey, KeyRequest } from '../../stores/accounts/keys.ts';
import type { AddedOrganisation, ChangedNamespaces } from '../../stores/accounts/organisations.ts';
import type { LeftBehindStores } from '../../stores/accounts/left-behind.ts';
import type { AllStores } from '../../stores/stores.ts';
import { GRANT_PAGES_MAX } from '../../core/organisation.ts';

type OrganisationRefusal = Extract<AddedOrganisation | ChangedNamespaces, { ok: false }>;

/** An error that the caller can fix, such as an unknown name or a missing argument. */
export class CommandRefused extends Error {
  /** True for wrong arguments: the usage of the command is printed. */
  readonly usage: boolean;
  constructor(message: string, usage = false) {
    super(message);
    this.name = 'CommandRefused';
    this.usage = usage;
  }
}

export interface AdminContext {
  stores: LeftBehindStores &
    Pick<
      AllStores,
      'organisations' | 'users' | 'members' | 'keys' | 'credits' | 'outbox' | 'suppressions' | 'secondFactors' | 'webhooks' | 'deliveries'
    >;
  /** Whether SMTP_URL is set, so that mails in the outbox are sent. */
  mail: boolean;
  /** Reads standard input to its end. */
  readInput(): Promise<string>;
  /** Returns an unguessable string for passwords and grant IDs. */
  randomToken(): string;
  now: () => Date;
  /** Prints a line to standard error before the command ends. */
  warn(line: string): void;
}

/** The output of a command: `data` with --json, else `lines`. */
export interface CommandResult {
  data: unknown;
  lines: string[];
}

/** An option. Its value is never empty: a script whose variable is not set must not change something else. */
export interface OptionSpec {
  /** The placeholder of its value. Absent: it has none. */
  value?: string;
  required?: true;
  meaning: string;
}
type OptionTable = Readonly<Record<string, OptionSpec>>;

export type Values<T extends OptionTable> = {
  [N in keyof T]: T[N] extends { value: string } ? (T[N] extends { required: true } ? string : string | undefined) : boolean;
};
/** The arguments of `<ID> [NAMESPACE...]`. */
type Positionals<A extends string> = A extends `<${string}> ${infer Rest}`
  ? [string, ...Positionals<Rest>]
  : A extends `<${string}>`
    ? [string]
    : A extends `[${string}...]`
      ? string[]
      : [];

interface Described<A extends string, T extends OptionTable> {
  /** In the notation of Commander. */
  arguments: A;
  summary: string;
  options: T;
  run(given: { positionals: Positionals<A>; values: Values<T> }, context: AdminContext): Promise<CommandResult>;
}
export type Command = Omit<Described<string, OptionTable>, 'run'> & {
  run(given: { positionals: string[]; values: Record<string, unknown> }, context: AdminContext): Promise<CommandResult>;
};

/** A command. Its arguments and options are checked and read by their table, from which --help is made too. */
export const command = <const A extends string = '', const T extends OptionTable = Record<never, never>>(
  described: Omit<Described<A, T>, 'arguments' | 'options'> & { arguments?: A; options?: T },
): Command => ({ arguments: '', options: {}, ...described }) as unknown as Command;

export const ORGANISATION_OPTION = { organisation: { value: 'ID', required: true, meaning: 'the organisation' } } as const;

/** The actor of audit log entries. */
export const ACTOR = 'curbcut-admin';

/**
 * Writes an entry of the audit log about a change that was made. A failure is only reported: the result of the command may be
 * a secret that is never shown again, and repeating the command would repeat the change.
 */
export function record(context: AdminContext, organisation: string, action: string, subject: string): Promise<void> {
  return recordEntry(context, { organisation, actor: ACTOR, action, subject });
}

async function recordEntry({ stores, warn }: AdminContext, entry: NewAuditEntry): Promise<void> {
  try {
    await stores.organisations.record(entry);
  } catch (error) {
    const { action, subject } = entry;
    warn(`warning: the change was made, but its entry in the audit log (${action} ${subject}) was lost: ${errorMessage(error)}`);
  }
}

/**
 * Mails the owner of an account about a change of its security. A failure is only reported, as a lost entry is.
 * @returns whether a mail is on its way, and a line that says so
 */
export async function notify(
  { stores, mail, now, warn }: AdminContext,
  event: AccountNotice,
  to: string,
): Promise<{ mailed: boolean; line: string }> {
  if (!mail) return { mailed: false, line: `${to} gets no mail about it, because SMTP_URL is not set.` };
  const data = { event, at: now().toISOString(), client: null };
  try {
    await stores.outbox.enqueue({ id: `account-notice:${randomUUID()}`, kind: 'account_notice', to, data });
    return { mailed: true, line: `A mail tells ${to} about it.` };
  } catch (error) {
    warn(`warning: the change was made, but the mail about it was lost: ${errorMessage(error)}`);
    return { mailed: false, line: `${to} gets no mail about it.` };
  }
}

/** Writes the entries of the audit log about a key, if they are missing. A failure is only reported. */
export async function recordKey(context: AdminContext, key: ApiKey): Promise<void> {
  for (const entry of keyEntries(key)) await recordEntry(context, entry);
}

/** Returns an organisation. @throws CommandRefused if it does not exist */
export async function findOrganisation(context: AdminContext, id: string) {
  const organisation = await context.stores.organisations.find(id);
  if (organisation === null) throw new CommandRefused(`Organisation ${id} does not exist; run "curbcut-admin organisation list".`);
  return organisation;
}

/** The organisations of a user, whose audit logs record what concerns the account. */
export async function organisationsOf({ stores }: AdminContext, email: string): Promise<string[]> {
  return (await stores.members.of(email)).map(({ organisation }) => organisation.id);
}

/** Issues a key and records it. @throws CommandRefused if the organisation has too many live keys */
export async function issueKey(
  context: AdminContext,
  request: Omit<KeyRequest, 'id' | 'creator'>,
): Promise<{ key: ApiKey; secret: string }> {
  const { organisation } = request;
  const issued = await context.stores.keys.issue({ ...request, creator: { createdBy: ACTOR, rootCreator: ACTOR } });
  if (!issued.ok)
    throw new CommandRefused(`organisation ${organisation} has ${LIVE_KEYS_MAX} live keys, which is the limit; revoke one first`);
  await recordKey(context, issued.key);
  return issued;
}

/** Returns the live keys of an organisation. There are at most `LIVE_KEYS_MAX`. */
export function liveKeys({ stores }: AdminContext, organisation: string): Promise<ApiKey[]> {
  return stores.keys.list(organisation, { status: 'live', limit: LIVE_KEYS_MAX });
}

/** Formats rows as aligned columns. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => row[index]!.length)));
  return rows.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index]!))
      .join('  ')
      .trimEnd(),
  );
}

/** Converts a refusal of the organisation store to an error for the caller. */
export function organisationRefused(id: string, refusal: OrganisationRefusal): CommandRefused {
  switch (refusal.reason) {
    case 'already_exists':
      return new CommandRefused(`organisation ${id} already exists`);
    case 'not_found':
      return new CommandRefused(`Organisation ${id} does not exist.`);
    case 'managed_by_manifest':
      return managedByManifest(id);
    case 'namespace_taken':
      return new CommandRefused(`namespace ${refusal.namespace} is already charged to organisation ${refusal.organisation}`);
  }
}

/** The refusal to change what the manifest of an organisation sets. */
export function managedByManifest(id: string): CommandRefused {
  return new CommandRefused(
    `Organisation ${id} is managed by its Organisation manifest: change the manifest, or run "curbcut-admin organisation hand-over ${id} --to admin" first.`,
  );
}

/** Values of arguments that several commands share. A Kubernetes namespace: a DNS label. */
const NAMESPACE = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Namespaces, each argument being a comma-separated list. @throws CommandRefused if a name is invalid */
export function namespacesOf(text: readonly string[]): string[] {
  const names = [...new Set(text.flatMap((part) => part.split(',')).filter((name) => name !== ''))];
  const invalid = names.find((name) => !NAMESPACE.test(name));
  if (invalid !== undefined) throw new CommandRefused(`${invalid} is not a valid Kubernetes namespace.`);
  return names;
}

/** A number of pages. @throws CommandRefused if it is out of range */
export function pagesOf(text: string): number {
  const pages = Number(text);
  if (!/^\d+$/.test(text) || pages < 1 || pages > GRANT_PAGES_MAX)
    throw new CommandRefused(`${text} is not a number of pages from 1 to ${GRANT_PAGES_MAX}.`);
  return pages;
}
