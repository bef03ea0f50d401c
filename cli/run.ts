/** Runs a command line: from its arguments to its exit code. */
import { Command, CommanderError } from 'commander';
import { helpEnd, type Define } from './commands/command.ts';
import { EXITS, type CliContext, type InterruptHint } from './commands/output.ts';
import { CliError, printableLines, ServiceUnavailable, UsageError } from './errors.ts';

interface Listed {
  /** In the notation of Commander. */
  arguments: string;
  summary: string;
  /** Loads the command's module. Only the one that runs is loaded, because the command must start fast. */
  load(): Promise<Define>;
}

const COMMANDS: Readonly<Record<string, Listed>> = {
  scan: {
    arguments: '<URL>',
    summary: 'submit a scan and wait for its verdict',
    load: async () => (await import('./commands/scan.ts')).scan,
  },
  follow: {
    arguments: '<ID>',
    summary: 'follow a scan that was submitted earlier',
    load: async () => (await import('./commands/follow.ts')).follow,
  },
  check: {
    arguments: '<URL>',
    summary: 'test one page again, and say what is fixed',
    load: async () => (await import('./commands/check.ts')).check,
  },
  cancel: { arguments: '<ID>', summary: 'cancel a scan', load: async () => (await import('./commands/cancel.ts')).cancel },
  list: { arguments: '', summary: 'list the scans of your organisation', load: async () => (await import('./commands/list.ts')).list },
  report: { arguments: '<ID>', summary: 'get the reports of a scan', load: async () => (await import('./commands/report.ts')).report },
  diff: {
    arguments: '<BEFORE> <AFTER>',
    summary: 'compare two scans: new, fixed and unchanged violations',
    load: async () => (await import('./commands/diff.ts')).diff,
  },
  comment: {
    arguments: '<FILE|ID>',
    summary: 'write the result as a comment on a pull request',
    load: async () => (await import('./commands/comment.ts')).comment,
  },
  accept: {
    arguments: '<FILE|ID>',
    summary: 'accept violations until a date, in a KnownIssues manifest',
    load: async () => (await import('./commands/accept.ts')).accept,
  },
  mcp: {
    arguments: '',
    summary: 'serve tools for coding agents (Model Context Protocol)',
    load: async () => (await import('./commands/mcp.ts')).mcp,
  },
  open: {
    arguments: '[ID]',
    summary: 'print the address of a scan in the dashboard, and open it',
    load: async () => (await import('./commands/open.ts')).open,
  },
  login: {
    arguments: '[URL]',
    summary: "store the service's address and an API key",
    load: async () => (await import('./commands/login.ts')).login,
  },
  logout: {
    arguments: '',
    summary: 'remove what curbcut login has stored',
    load: async () => (await import('./commands/login.ts')).logout,
  },
  completion: {
    arguments: '<SHELL>',
    summary: 'print the script for completion with Tab: bash, zsh or fish',
    load: async () => (await import('./commands/completion.ts')).completion,
  },
};

const DESCRIPTION = `Tests the accessibility of web sites with a Curbcut service.

ID is that of a scan, its first four or more characters, or latest.`;

const EXAMPLES = `  curbcut login https://curbcut.example.org
  curbcut scan https://www.example.org/ --max-pages 50 --fail-on serious
  curbcut report latest --pdf report.pdf
  curbcut open`;

/** The most characters of a line of help. */
const HELP_WIDTH = 120;
const INTERRUPTED = 130;
const TERMINATED = 143;

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

async function dispatch(args: readonly string[], context: CliContext, hint: InterruptHint): Promise<number> {
  const [command, ...rest] = args;
  if (command === undefined) throw new UsageError(`usage: curbcut <${Object.keys(COMMANDS).join('|')}>`);
  if (command === '__complete') {
    const { complete } = await import('./completion/complete.ts');
    context.stdout.write(await complete(rest, await programFor(rest[0], context, hint), context));
    return 0;
  }
  if (command === 'help') return dispatch(rest[0] === undefined ? ['--help'] : [rest[0], '--help'], context, hint);
  let code = 0;
  const program = await programFor(command, context, hint, (given) => (code = given));
  const known = command.startsWith('-') || Object.hasOwn(COMMANDS, command);
  try {
    // Commander would answer --help after an unknown command.
    await program.parseAsync(known ? args : [command], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw new UsageError(sentenceOf(error), Object.hasOwn(COMMANDS, command) ? command : undefined);
  }
  return code;
}

/** Makes the program, in which only the command that runs has its options. */
async function programFor(
  running: string | undefined,
  context: CliContext,
  hint: InterruptHint,
  end: (code: number) => void = () => {},
): Promise<Command> {
  const program = new Command('curbcut')
    .description(DESCRIPTION)
    .version(`curbcut ${context.version}`, '-V, --version', 'print the version')
    .helpCommand('help [COMMAND]', 'show all options and examples of a command')
    .addHelpText('after', helpEnd({ examples: EXAMPLES, exits: EXITS }))
    .exitOverride()
    .helpOption('-h, --help', 'print this help')
    // The meanings state choices and defaults.
    .configureHelp({ optionDescription: ({ description }) => description })
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: () => {},
      getOutHelpWidth: () => Math.min(HELP_WIDTH, context.stdout.columns()),
    });
  for (const [name, { arguments: names, summary, load }] of Object.entries(COMMANDS)) {
    const command = program.command(`${name} ${names}`.trimEnd()).summary(summary).description(summary);
    if (name === running) (await load())(command, context, hint, end);
  }
  return program;
}

/** The message of Commander as a sentence: `Unknown option '--min-scor'. Did you mean --min-score?` */
function sentenceOf({ message }: CommanderError): string {
  const text = message.replace(/^error: /, '').replace(/\n\((Did you mean .*\?)\)$/, '. $1');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
