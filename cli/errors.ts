/** Errors that prevent a verdict. The command line prints them and exits with 2. */

/** What happened and what to do about it, one line each. */
export class CliError extends Error {
  constructor(...lines: string[]) {
    super(lines.join('\n'));
    this.name = 'CliError';
  }
}

/** The service was unavailable, busy or paused for longer than --max-wait. */
export class ServiceUnavailable extends CliError {
  /** False if it is unknown what became of the request: it may have arrived, and no response says so. */
  readonly answered: boolean;
  constructor(answered: boolean, ...lines: string[]) {
    super(...lines);
    this.name = 'ServiceUnavailable';
    this.answered = answered;
  }
}

/** The arguments are invalid. */
export class UsageError extends CliError {
  /** The command whose --help describes the valid arguments. */
  readonly command: string | undefined;
  constructor(problem: string, command?: string) {
    super(problem);
    this.name = 'UsageError';
    this.command = command;
  }
}

/** The message of a thrown value, which may be of any type. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Removes control characters, and breaks commands of CI systems: messages may quote text of untrusted servers, which must control
 * neither the terminal nor the job.
 */
export function printable(text: string): string {
  return withoutCommands(text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' '));
}

/** The same for a text of several lines. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');

/** Azure Pipelines and GitHub find `##vso[…]` and `##[…]` anywhere in a line of the log, and GitHub `::…` at its beginning. */
const withoutCommands = (line: string): string => line.replace(/##(?=(?:vso)?\[)/gi, '# #').replace(/^(\s*)::/, '$1: :');
