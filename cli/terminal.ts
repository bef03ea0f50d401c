/** What the output supports: colours, redrawing a line, its width. */

export interface Terminal {
  /** Whether a line can be redrawn. */
  live: boolean;
  color: boolean;
  /** False: only ASCII. */
  unicode: boolean;
  columns(): number;
  write(text: string): void;
}

/** Detects the abilities of a stream; NO_COLOR as defined on https://no-color.org. */
export function terminalOf(
  stream: { isTTY?: boolean; columns?: number; write(text: string): unknown },
  environment: Record<string, string | undefined>,
): Terminal {
  const live = stream.isTTY === true && environment.TERM !== 'dumb' && !environment.CI;
  const locale = environment.LC_ALL || environment.LC_CTYPE || environment.LANG || '';
  return {
    live,
    color: stream.isTTY === true && environment.TERM !== 'dumb' && !environment.NO_COLOR,
    unicode: /utf-?8/i.test(locale),
    columns: () => stream.columns ?? 80,
    write: (text) => void stream.write(text),
  };
}

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
export type Paint = keyof typeof CODES;

/** Colours a text if the terminal supports colours. */
export function paint(terminal: Pick<Terminal, 'color'>, how: Paint, text: string): string {
  return terminal.color ? `\u001b[${CODES[how]}m${text}\u001b[0m` : text;
}
