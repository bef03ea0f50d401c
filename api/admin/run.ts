/** `curbcut-admin` from its arguments to its exit code. */
import { parseArgs } from 'node:util';
import { AlreadyExists, NamespaceTaken } from '../../stores/accounts/organisations.ts';
import { CommandRefused, type Command, type AdminContext } from './command.ts';
import { KEY } from './key.ts';
import { ORGANISATION } from './organisation.ts';
import { USER } from './user.ts';

const GROUPS: Readonly<Record<string, Record<string, Command>>> = { organisation: ORGANISATION, user: USER, key: KEY };

export interface Streams {
  out(text: string): void;
  err(text: string): void;
}

const usageOf = (group: string, name: string, { usage }: Command): string => `curbcut-admin ${group} ${name} ${usage}`.trimEnd();

/** All commands, or those of one group. */
export function helpText(only?: string): string {
  const groups = Object.entries(GROUPS).filter(([group]) => only === undefined || group === only);
  const commands = groups.flatMap(([group, commands]) =>
    Object.entries(commands).map(([name, command]) => `  ${usageOf(group, name, command)}\n      ${command.summary}`),
  );
  return `curbcut-admin: organisations, people and keys of a Curbcut service. Every change is recorded in the organisation's audit log.

Usage:
${commands.join('\n')}

  --json    prints the result as JSON
  --help    this text, or a command's

Environment:
  MONGODB_URL    the database of the service

Exit codes: 0 done, 1 refused or failed, 2 wrong use.
`;
}

/**
 * Runs one command.
 * @param open connects to the stores; called only where a command needs them
 * @returns the exit code; errors that the caller can mend are said, others thrown
 */
export async function run(args: readonly string[], streams: Streams, open: () => Promise<AdminContext>): Promise<number> {
  const [group, name, ...rest] = args;
  if (group === undefined || group === '--help' || group === '-h' || group === 'help') {
    streams[group === undefined ? 'err' : 'out'](helpText());
    return group === undefined ? 2 : 0;
  }
  const commands = Object.hasOwn(GROUPS, group) ? GROUPS[group]! : null;
  if (commands === null) return misused(streams, `There is no command ${group}; there are ${Object.keys(GROUPS).join(', ')}.`);
  if (name === '--help' || name === '-h') {
    streams.out(helpText(group));
    return 0;
  }
  const command = name !== undefined && Object.hasOwn(commands, name) ? commands[name]! : null;
  if (name === undefined || command === null)
    return misused(streams, `curbcut-admin ${group} what? There are ${Object.keys(commands).join(', ')}.`);
  const usage = `Usage: ${usageOf(group, name, command)}`;
  let given;
  try {
    given = parseArgs({
      args: rest,
      allowPositionals: true,
      strict: true,
      options: { ...command.options, json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
    });
  } catch (error) {
    return misused(streams, error instanceof Error ? error.message.split('. ')[0]! : String(error), usage);
  }
  const values = given.values as Record<string, string | boolean | undefined>;
  if (values.help === true) {
    streams.out(`${usage}\n  ${command.summary}\n`);
    return 0;
  }
  try {
    const said = await command.run({ positionals: given.positionals, values }, await open());
    streams.out(values.json === true ? `${JSON.stringify(said.data, null, 2)}\n` : `${said.lines.join('\n')}\n`);
    return 0;
  } catch (error) {
    if (error instanceof CommandRefused && error.usage) return misused(streams, error.message, usage);
    // What the stores refuse is said in their words: a range, a name that is taken.
    if (!(
      error instanceof CommandRefused ||
      error instanceof AlreadyExists ||
      error instanceof NamespaceTaken ||
      error instanceof RangeError
    ))
      throw error;
    streams.err(`curbcut-admin: ${error.message}\n`);
    return 1;
  }
}

function misused(streams: Streams, problem: string, usage = 'Try: curbcut-admin --help'): number {
  streams.err(`curbcut-admin: ${problem}\n${usage}\n`);
  return 2;
}
