/** What a command of `curbcut-admin` is: its arguments, what it needs, and what it gives. */
import type { AllStores } from '../../stores/stores.ts';

/** Something that the caller can mend: a name that does not exist, an argument that is missing. */
export class CommandRefused extends Error {
  /** True where the command was written wrongly: its usage is shown. */
  readonly usage: boolean;
  constructor(message: string, usage = false) {
    super(message);
    this.name = 'Refused';
    this.usage = usage;
  }
}

export interface AdminContext {
  stores: Pick<AllStores, 'organisations' | 'users' | 'keys' | 'credits'>;
  /** All that is on standard input. */
  readInput(): Promise<string>;
  /** A word that nobody can guess, for passwords and the ids of grants. */
  randomWord(): string;
  now(): Date;
}

/** What a command says: `data` with --json, else `lines`. */
export interface Said {
  data: unknown;
  lines: string[];
}

export interface Arguments {
  positionals: string[];
  values: Record<string, string | boolean | undefined>;
}

export interface Command {
  /** Arguments after the command's name, as --help shows them. */
  usage: string;
  summary: string;
  options?: Record<string, { type: 'string' | 'boolean' }>;
  run(given: Arguments, context: AdminContext): Promise<Said>;
}

/** Everything that changes something is recorded under this name. */
export const ACTOR = 'curbcut-admin';

/** The n-th positional argument. @throws Refused where it is missing */
export function argument({ positionals }: Arguments, index: number, what: string): string {
  const value = positionals[index];
  if (value === undefined || value === '') throw new CommandRefused(`${what} is missing.`, true);
  return value;
}

/** Refuses what is too much: a value that is silently ignored was meant for something. */
export function noMore({ positionals }: Arguments, count: number): void {
  if (positionals.length > count) throw new CommandRefused(`${positionals.slice(count).join(' ')} is too much.`, true);
}

/** The text of an option; undefined where it is not given. */
export function option({ values }: Arguments, name: string): string | undefined {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
}

/** The text of an option that must be given. @throws Refused */
export function needed(given: Arguments, name: string): string {
  const value = option(given, name);
  if (value === undefined || value === '') throw new CommandRefused(`--${name} is missing.`, true);
  return value;
}

/** An organisation that exists. @throws Refused */
export async function existing(context: AdminContext, id: string) {
  const organisation = await context.stores.organisations.find(id);
  if (organisation === null)
    throw new CommandRefused(`There is no organisation ${id}; curbcut-admin organisation list shows those that there are.`);
  return organisation;
}

/** Columns of text, each as wide as its widest cell. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => row[index]!.length)));
  return rows.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index]!))
      .join('  ')
      .trimEnd(),
  );
}
