/** The command line from its arguments to its exit code. */
import { follow } from './commands/follow.ts';
import { HELP } from './commands/help.ts';
import type { ScanReference, CliContext } from './commands/output.ts';
import { scan } from './commands/scan.ts';
import { CliError, ServiceUnavailable, UsageError } from './errors.ts';

const COMMANDS = { scan, follow } as const;
const INTERRUPTED = 130;
const TERMINATED = 143;

/** Runs one command and says what went wrong. @returns the exit code; never throws */
export async function run(args: readonly string[], world: CliContext): Promise<number> {
  const trail: ScanReference = { scanId: null, idempotencyKey: null };
  try {
    const [command, ...rest] = args;
    if (command === '--version' || command === '-V') {
      world.stdout.write(`curbcut ${world.version}\n`);
      return 0;
    }
    if (command === '--help' || command === '-h' || command === 'help') {
      world.stdout.write(HELP);
      return 0;
    }
    if (command === undefined) throw new UsageError('What shall be done? There are scan and follow.');
    if (!Object.hasOwn(COMMANDS, command)) throw new UsageError(`There is no command ${command}; there are scan and follow.`);
    return await COMMANDS[command as keyof typeof COMMANDS](rest, world, trail);
  } catch (error) {
    if (world.signal.aborted) {
      world.stderr.write(`Interrupted. ${pickUp(trail)}\n`);
      return world.signal.reason === 'SIGTERM' ? TERMINATED : INTERRUPTED;
    }
    if (!(error instanceof CliError)) {
      world.stderr.write(`curbcut: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
      return 2;
    }
    world.stderr.write(`curbcut: ${error.message}\n`);
    if (error instanceof ServiceUnavailable && (trail.scanId !== null || !error.answered)) world.stderr.write(`${pickUp(trail)}\n`);
    return 2;
  }
}

/** How what was begun is picked up again without paying twice. */
function pickUp({ scanId, idempotencyKey }: ScanReference): string {
  if (scanId !== null) return `The scan goes on; pick it up again with: curbcut follow ${scanId}`;
  if (idempotencyKey === null) return 'Nothing was submitted.';
  return `Whether a scan was submitted is not known; the same command with --idempotency-key ${idempotencyKey} finds it, and is charged once.`;
}
