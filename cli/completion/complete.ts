/** Completes the words of a command line: a word per line, and a directive. */
import { IMPACTS } from '../../core/scan/impacts.ts';
import { LOCALES } from '../../core/scan/locales.ts';
import { CONSENT_CHOICES } from '../../core/scan/options.ts';
import { PHASES } from '../../core/scan/phases.ts';
import { FORMATS } from '../commands/format.ts';
import type { CliContext } from '../commands/output.ts';
import { WCAG_TARGETS } from '../options.ts';
import { commandsIn, optionsIn, type HelpOption } from './help-options.ts';
import { namesOf, readNames } from './names.ts';

/** What the scripts do after the words. */
const FILES = ':0\n';
const NO_FILES = ':4\n';

/** The values of options, by the placeholders of their help. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  SEVERITY: IMPACTS,
  CHOICE: CONSENT_CHOICES,
  LANGUAGE: LOCALES,
  TARGET: WCAG_TARGETS,
  STATUS: PHASES,
  FORMAT: FORMATS,
};

/** What completion needs of the program. */
export interface Completed {
  /** The names of the commands. */
  commands: readonly string[];
  /** Returns the help of a command, or of the program. */
  helpOf(command?: string): Promise<string>;
}

/** Candidates with their descriptions after a tab, if there are any, and whether files are candidates too. */
interface Candidates {
  words: readonly string[];
  files?: boolean;
}

/** @param words the words after the program, of which the last one may be incomplete */
export async function complete(words: readonly string[], completed: Completed, context: CliContext): Promise<string> {
  const last = words.at(-1) ?? '';
  const { words: known, files } = await candidatesFor(words, completed, context);
  const fitting = known.filter((word) => word.startsWith(last));
  return `${fitting.map((word) => `${word}\n`).join('')}${files ? FILES : NO_FILES}`; // prettier-ignore
}

async function candidatesFor(words: readonly string[], { commands, helpOf }: Completed, context: CliContext): Promise<Candidates> {
  const [command, ...rest] = words;
  if (rest.length === 0) {
    const meanings = commandsIn(await helpOf());
    return { words: commands.map((name) => described(name, meanings.get(name))) };
  }
  if (!commands.includes(command!)) return { words: [] };
  const options = optionsIn(await helpOf(command));
  const before = rest.slice(0, -1);
  const last = rest.at(-1)!;
  const [, inline] = /^--([a-z-]+)=/.exec(last) ?? [];
  if (inline !== undefined) return valuesOf(optionOf(`--${inline}`, options), `--${inline}=`);
  const open = optionOf(before.at(-1) ?? '', options);
  if (open?.value) return valuesOf(open);
  if (last.startsWith('-')) return { words: options.map(({ name, meaning }) => described(`--${name}`, meaning)) };
  const names = namesOf(command!);
  if (names === null || argumentsIn(before, options) >= (names.count ?? 1)) return { words: [] };
  return { words: await readNames(names, context), files: names.files };
}

const described = (word: string, meaning?: string): string => (meaning === undefined ? word : `${word}\t${meaning}`);

/** The option that a word is, such as `-o` or `--output`. */
const optionOf = (word: string, options: readonly HelpOption[]): HelpOption | undefined =>
  options.find(({ name, short }) => word === `--${name}` || (short !== null && word === `-${short}`));

function valuesOf(option: HelpOption | undefined, prefix = ''): Candidates {
  const value = option?.value ?? '';
  const words = Object.hasOwn(VALUES, value) ? VALUES[value]!.map((word) => `${prefix}${word}`) : [];
  return { words, files: value === 'FILE' || value === 'FOLDER' };
}

/** The number of words that are neither options nor their values. */
const argumentsIn = (words: readonly string[], options: readonly HelpOption[]): number =>
  words.filter((word, index) => !word.startsWith('-') && !optionOf(words[index - 1] ?? '', options)?.value).length;
