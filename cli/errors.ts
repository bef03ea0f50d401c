/** Why nobody can tell whether a scan passed: what the command line says before it exits with 2. */

/** What happened, and what to do about it, a line each. */
export class CliError extends Error {
  constructor(...lines: string[]) {
    super(lines.join('\n'));
    this.name = 'CannotTell';
  }
}

/** The service was away, busy or paused for longer than anyone would wait. */
export class ServiceUnavailable extends CliError {
  /** False where no answer came, so that nobody knows what became of the request. */
  readonly answered: boolean;
  constructor(answered: boolean, ...lines: string[]) {
    super(...lines);
    this.name = 'ServiceAway';
    this.answered = answered;
  }
}

/** The command was used in a way that it does not know. */
export class UsageError extends CliError {
  constructor(problem: string, command?: string) {
    super(problem, `Try: curbcut ${command === undefined ? '' : `${command} `}--help`);
    this.name = 'WrongUse';
  }
}

/** The same text without what would steer a terminal: messages may quote what strangers' servers sent. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ');
}
