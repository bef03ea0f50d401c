/** `curbcut list`: the organisation's scans, newest first. */
import { IMPACTS } from '../../core/scan/impacts.ts';
import type { Client } from '../service/client.ts';
import { UsageError } from '../errors.ts';
import type { ListedScan, ScanPage } from '../service/messages.ts';
import { tableOf, type Column } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { print } from './format.ts';
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
  const output = outputOf('list', { ...values, quiet: false }, context);
  const found = await collect(connect(context, output), limit, values.status);
  await print(context.stdout, output.format, found, (wide) => textOf(found, context.stdout, wide));
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

const COLUMNS: readonly Column<ListedScan>[] = [
  { heading: 'ID', value: ({ scan_id: id }) => id },
  // To the minute, in UTC, as the service's logs.
  { heading: 'SUBMITTED', value: ({ submitted_at: at }) => at.slice(0, 16).replace('T', ' ') },
  { heading: 'STATUS', value: ({ status }) => status },
  { heading: 'SCORE', value: ({ score }) => score },
  { heading: 'VIOLATIONS', value: ({ violations_count: count }) => count },
  ...IMPACTS.map((impact): Column<ListedScan> => ({
    heading: impact.toUpperCase(),
    value: (scan) => scan[`violations_${impact}`],
    wide: true,
  })),
  { heading: 'VERDICT', value: ({ passed }) => (passed === null ? null : passed ? 'passed' : 'did not pass') },
  { heading: 'URL', value: ({ url }) => url },
  { heading: 'MESSAGE', value: ({ message }) => message, wide: true },
];

function textOf({ data, next_cursor: cursor }: ScanPage, terminal: Pick<Terminal, 'color' | 'unicode'>, wide: boolean): string {
  if (data.length === 0) return 'No scans.\n';
  const more = cursor === null ? '' : `There are more scans: increase --limit (at most ${LIMIT_MAX}).\n`;
  return `${tableOf(COLUMNS, data, terminal, wide)}${more}`;
}
