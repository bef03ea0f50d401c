/** Runs `curbcut-admin`: arguments in, exit code out. */
import { parseArgs } from 'node:util';
import { errorMessage } from '../../platform/errors.ts';

import { CommandRefused, type Command, type AdminContext } from './command.ts';
import { KEY } from './key.ts';
import { ORGANISATION } from './organisation.ts';
import { MAIL } from './mail.ts';
import { USER } from './user.ts';
import { WEBHOOK } from './webhook.ts';

const GROUPS: Readonly<Record<string, Record<string, Command>>> = {
  organisation: ORGANISATION,
  user: USER,
  key: KEY,
  mail: MAIL,
  webhook: WEBHOOK,
};

export interface Streams {
  out(text: string): void;
  err(text: string): void;
}

const usageOf = (group: string, name: string, { usage }: Command): string => `curbcut-admin ${group} ${name} ${usage}`.trimEnd();

/** The help of all commands, or of one group. */
export function helpText(only?: string): string {
  const groups = Object.entries(GROUPS).filter(([group]) => only === undefined || group === only);
  const commands = groups.flatMap(([group, commands]) =>
    Object.entries(commands).map(([name, command]) => `  ${usageOf(group, name, command)}\n      ${command.summary}`),
  );
  return `curbcut-admin manages the organisations, users, keys and webhooks of a Curbcut service. Every change is recorded in the organisation's audit log.

Usage:
${commands.join('\n')}

  --json    prints the result as JSON
  --help    prints this text, or the usage of a command

Environment:
  MONGODB_URL    the database of the service; or MONGODB_URL_FILE, the path of a file with it

Exit codes: 0 done, 1 rejected or failed, 2 wrong arguments.
`;
}

/**
 * Runs one command.
 * @param open connects to the stores; not called if the arguments are wrong
 * @returns the exit code
 * @throws errors that the caller cannot fix; the others are printed
 */
export async function run(args: readonly string[], streams: Streams, open: () => Promise<Omit<AdminContext, 'warn'>>): Promise<number> {
  const [group, name, ...rest] = args;
  if (group === undefined || group === '--help' || group === '-h' || group === 'help') {
    streams[group === undefined ? 'err' : 'out'](helpText());
    return group === undefined ? 2 : 0;
  }
  const commands = Object.hasOwn(GROUPS, group) ? GROUPS[group]! : null;
  if (commands === null) return misused(streams, `Unknown command ${group}; the commands are ${Object.keys(GROUPS).join(', ')}.`);
  if (name === '--help' || name === '-h') {
    streams.out(helpText(group));
    return 0;
  }
  const names = Object.keys(commands).join(', ');
  if (name === undefined) return misused(streams, `Missing command; the commands of curbcut-admin ${group} are ${names}.`);
  const command = Object.hasOwn(commands, name) ? commands[name]! : null;
  if (command === null) return misused(streams, `Unknown command ${group} ${name}; the commands are ${names}.`);
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
    return misused(streams, errorMessage(error).split('. ')[0]!, usage);
  }
  const values = given.values as Record<string, string | boolean | undefined>;
  if (values.help === true) {
    streams.out(`${usage}\n  ${command.summary}\n`);
    return 0;
  }
  // An ignored argument would hide a mistake.
  const extra = given.positionals.slice(argumentsIn(command.usage));
  if (extra.length > 0) return misused(streams, `Unexpected argument: ${extra.join(' ')}.`, usage);
  try {
    const context = { ...(await open()), warn: (line: string) => streams.err(`${line}\n`) };
    const result = await command.run({ positionals: given.positionals, values }, context);
    streams.out(values.json === true ? `${JSON.stringify(result.data, null, 2)}\n` : `${result.lines.join('\n')}\n`);
    return 0;
  } catch (error) {
    if (error instanceof CommandRefused && error.usage) return misused(streams, error.message, usage);
    // Stores reject values out of range with messages for the caller.
    if (!(error instanceof CommandRefused || error instanceof RangeError)) throw error;
    streams.err(`curbcut-admin: ${error.message}\n`);
    return 1;
  }
}

/** The number of arguments in a usage, before its options. */
const argumentsIn = (usage: string): number =>
  usage.includes('…')
    ? Infinity
    : usage
        .split(/\[|--/, 1)[0]!
        .split(' ')
        .filter((word) => word !== '').length;

function misused(streams: Streams, problem: string, usage = 'Try: curbcut-admin --help'): number {
  streams.err(`curbcut-admin: ${problem}\n${usage}\n`);
  return 2;
}
