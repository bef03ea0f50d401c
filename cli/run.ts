/** Runs a command line: from its arguments to its exit code. */
import { cancel } from './commands/cancel.ts';
import { follow } from './commands/follow.ts';
import { HELP } from './commands/help.ts';
import { list } from './commands/list.ts';
import type { Aftermath, CliContext } from './commands/output.ts';
import { scan } from './commands/scan.ts';
import { CliError, errorMessage, ServiceUnavailable, UsageError } from './errors.ts';

const COMMANDS = { scan, follow, cancel, list } as const;
const USAGE = `usage: curbcut <${Object.keys(COMMANDS).join('|')}>`;
const INTERRUPTED = 130;
const TERMINATED = 143;

/** Runs one command and prints its errors. Never throws. @returns the exit code */
export async function run(args: readonly string[], context: CliContext): Promise<number> {
  const aftermath: Aftermath = { hint: [], submitted: false };
  try {
    const [command, ...rest] = args;
    if (command === '--version' || command === '-V') {
      context.stdout.write(`curbcut ${context.version}\n`);
      return 0;
    }
    if (command === '--help' || command === '-h' || command === 'help') {
      context.stdout.write(HELP);
      return 0;
    }
    if (command === undefined) throw new UsageError(USAGE);
    if (!Object.hasOwn(COMMANDS, command)) throw new UsageError(`unknown command ${command}; ${USAGE}`);
    return await COMMANDS[command as keyof typeof COMMANDS](rest, context, aftermath);
  } catch (error) {
    if (context.signal.aborted) {
      context.stderr.write(`${['Interrupted.', ...aftermath.hint].join('\n')}\n`);
      return context.signal.reason === 'SIGTERM' ? TERMINATED : INTERRUPTED;
    }
    if (!(error instanceof CliError)) {
      context.stderr.write(`curbcut: ${error instanceof Error && error.stack !== undefined ? error.stack : errorMessage(error)}\n`);
      return 2;
    }
    context.stderr.write(`curbcut: ${error.message}\n`);
    if (error instanceof ServiceUnavailable && (aftermath.submitted || !error.answered))
      for (const line of aftermath.hint) context.stderr.write(`${line}\n`);
    return 2;
  }
}
