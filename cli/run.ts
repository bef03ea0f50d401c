/** Runs a command line: from its arguments to its exit code. */
import type { CliProcess, InterruptHint, Program, RunCommand } from './commands/output.ts';
import { splitKubectlFlags } from './kubectl/flags.ts';
import { nearest } from './suggestion.ts';
import { CliError, printableLines, ServiceUnavailable, UsageError } from './errors.ts';

/** Loads the command's module. Only the one that runs is loaded, because the command must start fast. */
type Command = () => Promise<RunCommand>;

const COMMANDS: Readonly<Record<Program, Readonly<Record<string, Command>>>> = {
  curbcut: {
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
    run: async () => (await import('./kubectl/commands/run.ts')).run,
    completion: async () => (await import('./commands/completion.ts')).completion,
  },
  'kubectl curbcut': {
    scan: async () => (await import('./kubectl/commands/scan.ts')).scan,
    follow: async () => (await import('./kubectl/commands/follow.ts')).follow,
    cancel: async () => (await import('./kubectl/commands/cancel.ts')).cancel,
    list: async () => (await import('./kubectl/commands/list.ts')).list,
    report: async () => (await import('./commands/report.ts')).report,
    diff: async () => (await import('./commands/diff.ts')).diff,
    queue: async () => (await import('./kubectl/commands/queue.ts')).queue,
    run: async () => (await import('./kubectl/commands/run.ts')).run,
  },
};
/** The commands of `curbcut` that speak Kubernetes. */
const KUBERNETES = new Set(['run']);
const INTERRUPTED = 130;
const TERMINATED = 143;

/** kubectl's options may stand before the command of a plugin. */
const splitFlags = (program: Program, args: readonly string[]): { flags: string[]; rest: readonly string[] } =>
  program === 'kubectl curbcut' || KUBERNETES.has(args[0] ?? '') ? splitKubectlFlags(args) : { flags: [], rest: args };

/** Completes the last of these words for a shell. */
async function completionsOf(words: readonly string[], process: CliProcess): Promise<string> {
  const { complete } = await import('./completion/complete.ts');
  const { program } = process;
  const helpOf = async (...command: string[]): Promise<string> => {
    let text = '';
    await run([...command, '--help'], { ...process, stdout: { ...process.stdout, write: (part) => (text += part) } });
    return text;
  };
  // The last word is not complete yet, so it is not the value of an option of kubectl.
  const { flags, rest } = splitFlags(program, words.slice(0, -1));
  const context = { ...process, kubectlFlags: flags };
  return complete([...rest, words.at(-1) ?? ''], { commands: Object.keys(COMMANDS[program]), helpOf }, context);
}

/** Runs one command and prints its errors. @returns the exit code @throws errors that are mistakes of this program */
export async function run(args: readonly string[], started: CliProcess): Promise<number> {
  const hint: InterruptHint = { lines: [], submitted: false };
  const { stdout, stderr, signal } = started;
  try {
    return await dispatch(args, started, hint);
  } catch (error) {
    if (signal.aborted) {
      stderr.write(`${['Interrupted.', ...hint.lines].join('\n')}\n`);
      return signal.reason === 'SIGTERM' ? TERMINATED : INTERRUPTED;
    }
    // A mistake of ours: start.cjs reports it, and ends with 2.
    if (!(error instanceof CliError)) throw error;
    stderr.write(`${started.program}: ${printableLines(error.message)}\n`);
    if (error instanceof UsageError)
      stderr.write(`Try: ${[started.program, error.command, '--help'].filter((word) => word !== undefined).join(' ')}\n`);
    if (error instanceof ServiceUnavailable && (hint.submitted || !error.answered))
      for (const line of hint.lines) stderr.write(`${line}\n`);
    return 2;
  }

  async function dispatch(given: readonly string[], process: CliProcess, after: InterruptHint): Promise<number> {
    const { program } = process;
    const commands = COMMANDS[program];
    const usage = `usage: ${program} <${Object.keys(commands).join('|')}>`;
    const plugin = program === 'kubectl curbcut';
    if (given[0] === '__complete') {
      stdout.write(await completionsOf(given.slice(1), process));
      return 0;
    }
    const { flags, rest: words } = splitFlags(program, given);
    const [command, ...rest] = words;
    if (command === '--version' || command === '-V') {
      stdout.write(`curbcut ${process.version}\n`);
      return 0;
    }
    if (command === 'help' && rest[0] !== undefined) return dispatch([...flags, rest[0], '--help'], process, after);
    if (command === '--help' || command === '-h' || command === 'help') {
      const { HELP } = plugin ? await import('./kubectl/help.ts') : await import('./commands/help.ts');
      stdout.write(HELP);
      return 0;
    }
    if (command === undefined) throw new UsageError(usage);
    if (!plugin && command === 'queue') throw new UsageError('Queues are Kubernetes resources; use: kubectl curbcut queue');
    if (!Object.hasOwn(commands, command)) {
      const meant = nearest(command, Object.keys(commands));
      throw new UsageError(`unknown command ${command}; ${meant === null ? usage : `did you mean ${program} ${meant}?`}`);
    }
    const runCommand = await commands[command]!();
    return runCommand(rest, { ...process, kubectlFlags: flags }, after);
  }
}
