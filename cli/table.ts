/** Tables as text, in the style of kubectl. */
import { printable } from './errors.ts';
import { paint, type Terminal } from './terminal.ts';

export interface Column<Row> {
  heading: string;
  value(row: Row): string | number | boolean | null | undefined;
  /** Shown only with `-o wide`. */
  wide?: boolean;
}

/** Renders rows under headings. A value that is absent becomes a dash; control characters of untrusted texts are removed. */
export function tableOf<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  terminal: Pick<Terminal, 'color' | 'unicode'>,
  wide = false,
): string {
  const dash = terminal.unicode ? '–' : '-';
  const shown = columns.filter((column) => wide || column.wide !== true);
  const cells = rows.map((row) => shown.map(({ value }) => printable(String(value(row) ?? dash))));
  const widths = shown.map(({ heading }, column) => Math.max(heading.length, ...cells.map((row) => row[column]!.length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd();
  return `${[paint(terminal, 'bold', line(shown.map(({ heading }) => heading))), ...cells.map(line)].join('\n')}\n`;
}
