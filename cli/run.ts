/** Runs a command line: from its arguments to its exit code. */
import { follow } from './commands/follow.ts';
import { HELP } from './commands/help.ts';
import type { ScanReference, CliContext } from './commands/output.ts';
import { scan } from './commands/scan.ts';
import { CliError, errorMessage, ServiceUnavailable, UsageError } from './errors.ts';

const COMMANDS = { scan, follow } as const;
const INTERRUPTED = 130;
const TERMINATED = 143;

/** Runs one command and prints its errors. Never throws. @returns the exit code */
export async function run(args: readonly string[], context: CliContext): Promise<number> {
  const reference: ScanReference = { scanId: null, idempotencyKey: null };
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
    if (command === undefined) throw new UsageError('usage: curbcut <scan|follow>');
    if (!Object.hasOwn(COMMANDS, command)) throw new UsageError(`unknown command ${command}; usage: curbcut <scan|follow>`);
    return await COMMANDS[command as keyof typeof COMMANDS](rest, context, reference);
  } catch (error) {
    if (context.signal.aborted) {
      context.stderr.write(`Interrupted. ${resumeHint(reference)}\n`);
      return context.signal.reason === 'SIGTERM' ? TERMINATED : INTERRUPTED;
    }
    if (!(error instanceof CliError)) {
      context.stderr.write(`curbcut: ${error instanceof Error && error.stack !== undefined ? error.stack : errorMessage(error)}\n`);
      return 2;
    }
    context.stderr.write(`curbcut: ${error.message}\n`);
    if (error instanceof ServiceUnavailable && (reference.scanId !== null || !error.answered))
      context.stderr.write(`${resumeHint(reference)}\n`);
    return 2;
  }
}

/** How to resume without being charged twice. */
function resumeHint({ scanId, idempotencyKey }: ScanReference): string {
  if (scanId !== null) return `The scan continues. To follow it again: curbcut follow ${scanId}`;
  if (idempotencyKey === null) return 'Nothing was submitted.';
  return `It is unknown whether a scan was submitted. To find out without being charged twice, run the same command with --idempotency-key ${idempotencyKey}`;
}
