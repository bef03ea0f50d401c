/** `curbcut list`: the organisation's scans, newest first. */
import type { Client } from '../service/client.ts';
import { UsageError, printable } from '../errors.ts';
import type { ListedScan, ScanPage } from '../service/messages.ts';
import { paint, type Terminal } from '../terminal.ts';
import { LIST_HELP } from './help.ts';
import { COMMON_OPTIONS, connect, noMoreArguments, numberOf, outputOf, parse, type CliContext } from './output.ts';

const { quiet: _quiet, ...common } = COMMON_OPTIONS;
const OPTIONS = { status: { type: 'string' }, limit: { type: 'string', default: '20' }, ...common } as const;
/** Without a bound, a command could read the whole history of an organisation, request by request. */
const LIMIT_MAX = 1000;
/** Scans per request. */
const PAGE_MAX = 100;

/** Runs the command. @returns its exit code @throws CliError */
export async function list(args: readonly string[], context: CliContext): Promise<number> {
  const { values, positionals } = parse('list', args, OPTIONS);
  if (values.help) {
    context.stdout.write(LIST_HELP);
    return 0;
  }
  noMoreArguments('list', positionals);
  const limit = numberOf('list', 'limit', values.limit, true)!;
  if (limit < 1 || limit > LIMIT_MAX) throw new UsageError(`--limit ${values.limit} is not between 1 and ${LIMIT_MAX}.`, 'list');
  const found = await collect(connect(context, outputOf('list', { ...values, quiet: false }, context)), limit, values.status);
  if (values.json) context.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
  else context.stdout.write(tableOf(found, context.stdout));
  return 0;
}

/** Reads at most `limit` scans. */
async function collect(client: Client, limit: number, status: string | undefined): Promise<ScanPage> {
  const data: ListedScan[] = [];
  let cursor: string | null = null;
  do {
    const page: ScanPage = await client.list({ status, limit: Math.min(PAGE_MAX, limit - data.length), cursor });
    data.push(...page.data);
    cursor = page.data.length === 0 ? null : page.next_cursor;
  } while (cursor !== null && data.length < limit);
  return { data: data.slice(0, limit), next_cursor: cursor };
}

const HEADINGS = ['ID', 'SUBMITTED', 'STATUS', 'SCORE', 'VIOLATIONS', 'VERDICT', 'URL'] as const;

function tableOf({ data, next_cursor: cursor }: ScanPage, terminal: Pick<Terminal, 'color' | 'unicode'>): string {
  if (data.length === 0) return 'No scans.\n';
  const dash = terminal.unicode ? '–' : '-';
  const rows = data.map((scan) => [
    scan.scan_id,
    // To the minute, in UTC, as the service's logs.
    scan.submitted_at.slice(0, 16).replace('T', ' '),
    scan.status,
    String(scan.score ?? dash),
    String(scan.violations_count ?? dash),
    scan.passed === null ? dash : scan.passed ? 'passed' : 'did not pass',
    scan.url,
  ]);
  const cells = rows.map((row) => row.map(printable));
  const widths = HEADINGS.map((heading, column) => Math.max(heading.length, ...cells.map((row) => row[column]!.length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd();
  const more = cursor === null ? [] : [`There are more scans: increase --limit (at most ${LIMIT_MAX}).`];
  return `${[paint(terminal, 'bold', line(HEADINGS)), ...cells.map(line), ...more].join('\n')}\n`;
}
