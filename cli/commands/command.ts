/** Commands as Commander knows them. One table of options gives parsing, --help and completion. Loads neither HTTP client nor schemas. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { CliContext, InterruptHint } from './output.ts';

/** An option, by its name without hyphens at the beginning. */
export interface OptionSpec {
  /** One letter. */
  short?: string;
  /** The placeholder of its value. Absent: it has none. */
  value?: string;
  multiple?: true;
  default?: string;
  /** The values that completion offers. */
  choices?: readonly string[];
  meaning: string;
  /** Its heading in --help. Default: Options */
  group?: string;
}
export type OptionTable = Readonly<Record<string, OptionSpec>>;

type Absent<O> = O extends { value: string } ? (O extends { default: string } ? false : true) : false;
/** The values of options: lists of those that may be given several times; undefined if they were not given and have no default. */
type ValuesOf<T> = {
  [N in keyof T as Absent<T[N]> extends true ? never : N]: T[N] extends { value: string } ? string : boolean;
} & {
  [N in keyof T as Absent<T[N]> extends true ? N : never]?: T[N] extends { multiple: true } ? string[] : string;
};

/** What --help says beside the options. */
interface About {
  description: string;
  examples: string;
  exits: string;
}

type Run<O> = (given: { values: ValuesOf<O>; positionals: string[] }, context: CliContext, hint: InterruptHint) => Promise<number>;

/** Adds options, help and action to a command of the program. `end` gets the exit code. */
export type Define = (command: Command, context: CliContext, hint: InterruptHint, end: (code: number) => void) => void;

const ENVIRONMENT = `Environment:
  CURBCUT_URL          the address of the service, if not that of curbcut login
  CURBCUT_API_KEY      an API key of your organisation for the service of CURBCUT_URL
  NO_COLOR             disable colours`;

/** The end of a help text. */
export const helpEnd = ({ examples, exits }: Omit<About, 'description'>): string =>
  `\nExamples:\n${examples}\n\n${inColumns(`Exit codes:\n${exits}\n\n${ENVIRONMENT}`)}`;

/** Breaks lines of two columns after at most 80 characters. The text goes on in the second column. */
function inColumns(text: string): string {
  const wrap = (line: string): string => {
    const at = line.slice(0, 81).lastIndexOf(' ');
    const indent = /^ *(?:\S+ {2,})?/.exec(line)![0].length;
    return line.length <= 80 || at <= indent ? line : `${line.slice(0, at)}\n${wrap(' '.repeat(indent) + line.slice(at + 1))}`;
  };
  return text.split('\n').map(wrap).join('\n');
}

export const defineCommand =
  <const O extends OptionTable>(about: About, options: O, run: Run<O>): Define =>
  (command, context, hint, end) => {
    command.description(about.description).addHelpText('after', helpEnd(about));
    const values: Record<string, unknown> = {};
    for (const [name, spec] of Object.entries<OptionSpec>(options)) command.addOption(optionOf(name, spec, command));
    command.action(async () => {
      const given = command.opts<Record<string, unknown>>();
      for (const option of command.options) {
        const value = given[option.attributeName()];
        // Commander stores `--no-x` as `x`, and leaves out what was not given.
        values[option.name()] = option.negate ? value === false : option.isBoolean() ? value === true : value;
      }
      end(await run({ values: values as ValuesOf<O>, positionals: command.args }, context, hint));
    });
  };

function optionOf(
  name: string,
  { short, value, multiple, default: fallback, choices, meaning, group }: OptionSpec,
  command: Command,
): Option {
  const option = new Option(`${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` <${value}>`}`, meaning);
  // Commander takes the next word as the value, also if it is an option: a variable of a script was not set.
  const read = (text: string): string => {
    const isOption = ['-h', '--help'].includes(text) || command.options.some(({ short, long }) => text === short || text === long);
    if (!isOption) return text;
    throw new InvalidArgumentError('It is an option, so the value is missing.');
  };
  if (multiple) option.argParser((text: string, before: string[] | undefined) => [...(before ?? []), read(text)]);
  else if (value !== undefined) option.argParser(read);
  if (fallback !== undefined) option.default(fallback);
  // Not `choices()`: commands check values themselves, and accept upper case.
  if (choices !== undefined) option.argChoices = [...choices];
  return group === undefined ? option : option.helpGroup(group);
}

/** The options under another heading of --help. */
export const grouped = <const T extends OptionTable>(group: string, options: T): T =>
  Object.fromEntries(Object.entries<OptionSpec>(options).map(([name, spec]) => [name, { ...spec, group }])) as unknown as T;
