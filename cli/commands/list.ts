/** `curbcut list`: the organisation's scans, newest first. */
import { PHASES } from '../../core/scan/phases.ts';
import { listAll, LISTED_MAX } from '../service/scan-reference.ts';
import { printable, UsageError } from '../errors.ts';
import { pairsFrom } from '../metadata.ts';
import type { ListedScan, ScanPage } from '../service/messages.ts';
import { paint, type Terminal } from '../terminal.ts';
import { numberOf } from '../values.ts';
import { versionText } from '../../core/scan/metadata.ts';
import { IMPACTS } from '../../core/scan/impacts.ts';
import { print } from './format.ts';
import { defineCommand } from './command.ts';
import { COMMON_OPTIONS, outputOf } from './output.ts';
import { connect } from './service.ts';

/** Tables as text, in the style of kubectl. */
export interface Column<Row> {
  heading: string;
  value(row: Row): string | number | boolean | null | undefined;
  /** Shown only with `-o wide`. */
  wide?: boolean;
  /** The value in a terminal that is too narrow for the table. Null: the column is left out. */
  short?: ((row: Row) => string) | null;
}

/**
 * Renders rows under headings. A value that is absent becomes a dash; control characters of untrusted texts are removed. In a terminal that
 * is too narrow for the table, values are short and the last column is cut, except with `wide`.
 */
export function tableOf<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  terminal: Pick<Terminal, 'color' | 'unicode' | 'live' | 'columns'>,
  wide = false,
): string {
  const dash = terminal.unicode ? '–' : '-';
  const textsOf = (shown: readonly Column<Row>[]): string[][] => [
    shown.map(({ heading }) => heading),
    ...rows.map((row) => shown.map(({ value }) => printable(String(value(row) ?? dash)))),
  ];
  const width = wide || !terminal.live ? Infinity : terminal.columns();
  const shown = columns.filter((column) => wide || column.wide !== true);
  let lines = linesOf(textsOf(shown));
  if (lines.some((line) => line.length > width)) {
    const narrow = shown.filter(({ short }) => short !== null);
    const more = terminal.unicode ? '…' : '.';
    lines = linesOf(textsOf(narrow.map((column) => ({ ...column, value: column.short ?? column.value })))).map((line) =>
      line.length > width ? line.slice(0, width - 1) + more : line,
    );
  }
  return `${[paint(terminal, 'bold', lines[0]!), ...lines.slice(1)].join('\n')}\n`;
}

/** Aligns the cells of rows. */
function linesOf(cells: readonly (readonly string[])[]): string[] {
  const widths = cells[0]!.map((_heading, column) => Math.max(...cells.map((row) => row[column]!.length)));
  return cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
}

/** The columns of tables of scans. */
const SCAN_COLUMNS: readonly Column<ListedScan>[] = [
  // To the minute, in UTC, as in the logs of the service.
  {
    heading: 'SUBMITTED',
    value: ({ submitted_at: at }) => at.slice(0, 16).replace('T', ' '),
    short: ({ submitted_at: at }) => at.slice(0, 10),
  },
  { heading: 'STATUS', value: ({ status }) => status },
  { heading: 'SCORE', value: ({ score }) => score },
  { heading: 'VIOLATIONS', value: ({ violations_count: count }) => count },
  ...IMPACTS.map((impact): Column<ListedScan> => ({
    heading: impact.toUpperCase(),
    value: (scan) => scan[`violations_${impact}`],
    wide: true,
  })),
  { heading: 'VERDICT', value: ({ passed }) => (passed === null ? null : passed ? 'passed' : 'did not pass') },
];
const VERSION: Column<ListedScan> = { heading: 'VERSION', value: ({ metadata = {} }) => versionText(metadata) || null, short: null };
const URL_COLUMN: Column<ListedScan> = { heading: 'URL', value: ({ url }) => url, short: ({ url }) => url.replace(/^https?:\/\//, '') };

/**
 * The columns from the submission to the URL. Branch and commit have one if a scan has them.
 */
export const scanColumns = (scans: readonly ListedScan[]): Column<ListedScan>[] => [
  ...SCAN_COLUMNS,
  ...(scans.some((scan) => VERSION.value(scan) !== null) ? [VERSION] : []),
  URL_COLUMN,
];

const { quiet: _quiet, ...common } = COMMON_OPTIONS;
const OPTIONS = {
  status: { value: 'STATUS', choices: PHASES, meaning: `only scans in this phase: ${PHASES.join(', ')}` },
  metadata: { value: 'KEY=VALUE', multiple: true, meaning: 'only scans with this pair, such as branch=main; may be given several times' },
  limit: { value: 'N', default: '20', meaning: `the maximum number of scans (1 to ${LISTED_MAX}, default 20)` },
  ...common,
} as const;

export const list = defineCommand(
  {
    description: 'Lists the scans of your organisation, newest first.',
    examples: `  curbcut list --status failed
  curbcut list --metadata branch=main --limit 100 -o wide`,
    exits: `  0    the scans were listed, even if the list is empty
  2    the scans could not be listed: invalid arguments, a rejected key, no network, …`,
  },
  OPTIONS,
  async ({ values }, context) => {
    const limit = numberOf('list', 'limit', values.limit, true)!;
    if (limit < 1 || limit > LISTED_MAX) throw new UsageError(`--limit ${values.limit} is not between 1 and ${LISTED_MAX}.`, 'list');
    const metadata = pairsFrom('list', values.metadata);
    const output = outputOf('list', { ...values, quiet: false }, context);
    const found = await listAll(connect(context, output), { status: values.status, metadata, limit });
    await print(context.stdout, output.format, found, (wide) => textOf(found, context.stdout, wide));
    return 0;
  },
);

const columnsOf = (scans: readonly ListedScan[]): Column<ListedScan>[] => [
  // Commands take the beginning of an ID.
  { heading: 'ID', value: ({ scan_id: id }) => id, short: ({ scan_id: id }) => id.slice(0, 8) },
  ...scanColumns(scans),
  { heading: 'MESSAGE', value: ({ message }) => message, wide: true },
];

function textOf({ data, next_cursor: cursor }: ScanPage, terminal: Terminal, wide: boolean): string {
  if (data.length === 0) return cursor === null ? 'No scans.\n' : 'No scans among the newest ones. There may be older ones.\n';
  const more = cursor === null ? '' : `There are more scans: increase --limit (at most ${LISTED_MAX}).\n`;
  return `${tableOf(columnsOf(data), data, terminal, wide)}${more}`;
}
