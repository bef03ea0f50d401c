/** Runs `curbcut-admin`: arguments in, exit code out. */
import { CommanderError, Command as Program, InvalidArgumentError, Option } from 'commander';
import { CommandRefused, type AdminContext, type Command } from './command.ts';
import { KEY } from './key.ts';
import { ORGANISATION } from './organisation.ts';
import { MAIL } from './mail.ts';
import { USER } from './user.ts';
import { WEBHOOK } from './webhook.ts';

const GROUPS: Readonly<Record<string, { summary: string; commands: Record<string, Command> }>> = {
  organisation: { summary: 'organisations, their credits and their namespaces', commands: ORGANISATION },
  user: { summary: 'users, their roles, passwords and second factors', commands: USER },
  key: { summary: 'API keys', commands: KEY },
  mail: { summary: 'addresses that get no mails', commands: MAIL },
  webhook: { summary: 'webhooks', commands: WEBHOOK },
};

const DESCRIPTION =
  "Manages the organisations, users, keys and webhooks of a Curbcut service. Every change is recorded in the organisation's audit log.";

const END = `
Environment:
  MONGODB_URL    the database of the service; or MONGODB_URL_FILE, the path of a file with it

Exit codes: 0 done, 1 rejected or failed, 2 wrong arguments.`;

/** The width of help, in characters. */
const HELP_WIDTH = 120;

export interface Streams {
  out(text: string): void;
  err(text: string): void;
}

/**
 * Runs one command.
 * @param open connects to the stores; not called if the arguments are wrong
 * @returns the exit code
 * @throws errors that the caller cannot fix; the others are printed
 */
export async function run(args: readonly string[], streams: Streams, open: () => Promise<Omit<AdminContext, 'warn'>>): Promise<number> {
  try {
    await programFor(streams, async () => ({ ...(await open()), warn: (line: string) => streams.err(`${line}\n`) })).parseAsync(args, {
      from: 'user',
    });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const misused = error instanceof CommanderError || (error instanceof CommandRefused && error.usage);
    // Stores reject values out of range with messages for the caller.
    if (!(misused || error instanceof CommandRefused || error instanceof RangeError)) throw error;
    // Commander has printed the help of a group whose command is missing.
    if (!(error instanceof CommanderError) || error.code !== 'commander.help') {
      streams.err(`curbcut-admin: ${sentenceOf(error)}\n`);
      if (misused) streams.err(`Try: ${['curbcut-admin', ...commandOf(args), '--help'].join(' ')}\n`);
    }
    return misused ? 2 : 1;
  }
}

/** The words that name the group and the command, as far as they are right. */
function commandOf([group, name]: readonly string[]): string[] {
  if (group === undefined || !Object.hasOwn(GROUPS, group)) return [];
  return name !== undefined && Object.hasOwn(GROUPS[group]!.commands, name) ? [group, name] : [group];
}

function programFor({ out, err }: Streams, open: () => Promise<AdminContext>): Program {
  const program = new Program('curbcut-admin')
    .description(DESCRIPTION)
    .exitOverride()
    .helpCommand(false)
    .helpOption('-h, --help', 'print this help')
    .configureOutput({
      writeOut: out,
      writeErr: err,
      outputError: () => {},
      getOutHelpWidth: () => HELP_WIDTH,
      getErrHelpWidth: () => HELP_WIDTH,
    })
    .addHelpText('after', END);
  for (const [name, { summary, commands }] of Object.entries(GROUPS)) {
    const group = program
      .command(name)
      .description(summary)
      .summary(`${summary}: ${Object.keys(commands).join(', ')}`);
    for (const [name, command] of Object.entries(commands)) addCommand(group, name, command, { out, open });
  }
  return program;
}

function addCommand(
  group: Program,
  name: string,
  { arguments: names, summary, options, run }: Command,
  { out, open }: { out: Streams['out']; open: () => Promise<AdminContext> },
): void {
  const command = group.command(`${name} ${names}`.trimEnd()).description(summary);
  for (const [option, { value, required, meaning }] of Object.entries(options)) {
    const one = new Option(value === undefined ? `--${option}` : `--${option} <${value}>`, meaning).makeOptionMandatory(required === true);
    command.addOption(value === undefined ? one : one.argParser((text: string) => notEmpty(notOption(text, command))));
  }
  for (const argument of command.registeredArguments) if (argument.required) argument.argParser(notEmpty);
  command.option('--json', 'print the result as JSON');
  command.action(async () => {
    const given = command.opts<Record<string, unknown>>();
    const values = Object.fromEntries(
      command.options.map((option) => [option.name(), given[option.attributeName()] ?? (option.isBoolean() ? false : undefined)]),
    );
    const { data, lines } = await run({ positionals: command.args, values }, await open());
    out(values.json === true ? `${JSON.stringify(data, null, 2)}\n` : `${lines.join('\n')}\n`);
  });
}

/** Commander takes the next word as the value, also if it is an option. */
function notOption(text: string, { options }: Program): string {
  if (['-h', '--help'].includes(text) || options.some(({ short, long }) => text === short || text === long))
    throw new InvalidArgumentError('It is an option, so the value is missing.');
  return text;
}

function notEmpty(text: string): string {
  if (text === '') throw new InvalidArgumentError('It is empty.');
  return text;
}

/** `error: unknown option '--jsn'\n(Did you mean --json?)` as sentences. Other messages stay as they are. */
function sentenceOf(error: Error): string {
  if (!(error instanceof CommanderError)) return error.message;
  const text = error.message.replace(/^error: /, '').replace(/\n\((Did you mean .*\?)\)$/, '. $1');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
