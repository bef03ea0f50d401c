/** Runs a command line: from its arguments to its exit code. */
import type { CliContext, InterruptHint, RunCommand } from './commands/output.ts';
import { nearest } from './suggestion.ts';
import { CliError, printableLines, ServiceUnavailable, UsageError } from './errors.ts';

/** Loads the command's module. Only the one that runs is loaded, because the command must start fast. */
type Command = () => Promise<RunCommand>;

const COMMANDS: Readonly<Record<string, Command>> = {
  scan: async () => (await import('./commands/scan.ts')).scan,
  follow: async () => (await import('./commands/follow.ts')).follow,
  cancel: async () => (await import('./commands/cancel.ts')).cancel,
  list: async () => (await import('./commands/list.ts')).list,
  report: async () => (await import('./commands/report.ts')).report,
  diff: async () => (await import('./commands/diff.ts')).diff,
  comment: async () => (await import('./commands/comment.ts')).comment,
  accept: async () => (await import('./commands/accept.ts')).accept,
  open: async () => (await import('./commands/open.ts')).open,
  login: async () => (await import('./commands/login.ts')).login,
  logout: async () => (await import('./commands/login.ts')).logout,
  completion: async () => (await import('./commands/completion.ts')).completion,
};

const INTERRUPTED = 130;
const TERMINATED = 143;

/** Completes the last of these words for a shell. */
async function completionsOf(words: readonly string[], context: CliContext): Promise<string> {
  const { complete } = await import('./completion/complete.ts');
  const helpOf = async (...command: string[]): Promise<string> => {
    let text = '';
    await run([...command, '--help'], { ...context, stdout: { ...context.stdout, write: (part) => (text += part) } });
    return text;
  };
  return complete(words, { commands: Object.keys(COMMANDS), helpOf }, context);
}

/** Runs one command and prints its errors. @returns the exit code @throws errors that are mistakes of this program */
export async function run(args: readonly string[], context: CliContext): Promise<number> {
  const hint: InterruptHint = { lines: [], submitted: false };
  const { stderr, signal } = context;
  try {
    return await dispatch(args, context, hint);
  } catch (error) {
    if (signal.aborted) {
      stderr.write(`${['Interrupted.', ...hint.lines].join('\n')}\n`);
      return signal.reason === 'SIGTERM' ? TERMINATED : INTERRUPTED;
    }
    // A mistake of ours: start.cjs reports it, and ends with 2.
    if (!(error instanceof CliError)) throw error;
    stderr.write(`curbcut: ${printableLines(error.message)}\n`);
    if (error instanceof UsageError)
      stderr.write(`Try: ${['curbcut', error.command, '--help'].filter((word) => word !== undefined).join(' ')}\n`);
    if (error instanceof ServiceUnavailable && (hint.submitted || !error.answered))
      for (const line of hint.lines) stderr.write(`${line}\n`);
    return 2;
  }
}

async function dispatch([command, ...rest]: readonly string[], context: CliContext, hint: InterruptHint): Promise<number> {
  const { stdout } = context;
  if (command === '__complete') {
    stdout.write(await completionsOf(rest, context));
    return 0;
  }
  if (command === '--version' || command === '-V') {
    stdout.write(`curbcut ${context.version}\n`);
    return 0;
  }
  if (command === 'help' && rest[0] !== undefined) return dispatch([rest[0], '--help'], context, hint);
  if (command === '--help' || command === '-h' || command === 'help') {
    stdout.write((await import('./commands/help.ts')).HELP);
    return 0;
  }
  const usage = `usage: curbcut <${Object.keys(COMMANDS).join('|')}>`;
  if (command === undefined) throw new UsageError(usage);
  if (!Object.hasOwn(COMMANDS, command)) {
    const meant = nearest(command, Object.keys(COMMANDS));
    throw new UsageError(`unknown command ${command}; ${meant === null ? usage : `did you mean curbcut ${meant}?`}`);
  }
  const runCommand = await COMMANDS[command]!();
  return runCommand(rest, context, hint);
}
