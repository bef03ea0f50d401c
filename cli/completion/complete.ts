/** Completes the words of a command line: a word per line, and a directive. */
import type { Command, Option } from 'commander';
import type { CliContext } from '../commands/output.ts';
import { printable } from '../errors.ts';
import { noProgress } from '../progress.ts';
import { SHELLS } from './scripts.ts';

/**
 * The names that an argument of a command may have. Without a service there are none, or only fixed ones. The time that a shell waits for
 * names, in milliseconds.
 */
const MAX_MS = 3000;
/** As many scans of the service are offered, the newest ones. */
const SCANS_MAX = 20;

/** What the arguments of a command name. */
export interface Names {
  /** The argument may be a file too. */
  files?: boolean;
  read(context: CliContext): Promise<string[]>;
}

/** `latest`, and the IDs of the newest scans with their sites. */
async function scansOfService(context: CliContext): Promise<string[]> {
  const { connect } = await import('../commands/service.ts');
  const { listAll } = await import('../service/scan-reference.ts');
  const { LATEST } = await import('../service/scan-reference.ts');
  const client = connect(context, { maxWaitSeconds: 0, progress: noProgress() });
  const { data } = await listAll(client, { limit: SCANS_MAX });
  return [LATEST, ...data.map(({ scan_id: id, status, url }) => `${id}\t${printable(`${status} ${url}`)}`)];
}

const ARGUMENTS: Readonly<Record<string, Names>> = {
  follow: { read: scansOfService },
  cancel: { read: scansOfService },
  report: { read: scansOfService },
  diff: { read: scansOfService },
  open: { read: scansOfService },
  comment: { read: scansOfService, files: true },
  accept: { read: scansOfService, files: true },
  completion: { read: () => Promise.resolve([...SHELLS]) },
};

/** Returns what the arguments of a command name, or null if they name nothing that is known. */
export const namesOf = (command: string): Names | null => (Object.hasOwn(ARGUMENTS, command) ? ARGUMENTS[command]! : null);

/** Reads the names within a few seconds. A shell has no place for an error while a word is completed. */
export async function readNames({ read }: Names, context: CliContext): Promise<string[]> {
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(MAX_MS)]);
  try {
    return await read({ ...context, signal });
  } catch {
    return [];
  }
}

/** What the scripts do after the words. */
const FILES = ':0\n';
const NO_FILES = ':4\n';

/** Candidates with their descriptions after a tab, if there are any, and whether files are candidates too. */
interface Candidates {
  words: readonly string[];
  files?: boolean;
}

/** @param words the words after the program, of which the last one may be incomplete @param program with the options of its command */
export async function complete(words: readonly string[], program: Command, context: CliContext): Promise<string> {
  const last = words.at(-1) ?? '';
  const { words: known, files } = await candidatesFor(words, program, context);
  const fitting = known.filter((word) => word.startsWith(last));
  return `${fitting.map((word) => `${word}\n`).join('')}${files ? FILES : NO_FILES}`; // prettier-ignore
}

async function candidatesFor(words: readonly string[], { commands }: Command, context: CliContext): Promise<Candidates> {
  const [name, ...rest] = words;
  if (rest.length === 0) return { words: commands.map((command) => `${command.name()}\t${command.summary()}`) };
  const command = commands.find((one) => one.name() === name);
  if (command === undefined) return { words: [] };
  const { options } = command;
  const before = rest.slice(0, -1);
  const last = rest.at(-1)!;
  const [, inline] = /^(--[a-z-]+)=/.exec(last) ?? [];
  if (inline !== undefined) return valuesOf(optionOf(inline, options), `${inline}=`);
  const open = optionOf(before.at(-1), options);
  if (open?.required) return valuesOf(open);
  if (last.startsWith('-')) return { words: options.map(({ long, description }) => `${long}\t${description}`) };
  const names = namesOf(name!);
  if (names === null || argumentsIn(before, options) >= command.registeredArguments.length) return { words: [] };
  return { words: await readNames(names, context), files: names.files };
}

/** The option that a word is, such as `-o` or `--output`. */
const optionOf = (word: string | undefined, options: readonly Option[]): Option | undefined =>
  options.find(({ long, short }) => word !== undefined && (word === long || word === short));

function valuesOf(option: Option | undefined, prefix = ''): Candidates {
  const words = (option?.argChoices ?? []).map((word) => `${prefix}${word}`);
  return { words, files: /<(FILE|FOLDER)>$/.test(option?.flags ?? '') };
}

/** The number of words that are neither options nor their values. */
const argumentsIn = (words: readonly string[], options: readonly Option[]): number =>
  words.filter((word, index) => !word.startsWith('-') && !optionOf(words[index - 1], options)?.required).length;
