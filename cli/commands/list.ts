/** `curbcut list`: the organisation's scans, newest first. */
import { PHASES } from '../../core/scan/phases.ts';
import { LISTED_MAX, listAll } from '../service/list.ts';
import { UsageError } from '../errors.ts';
import { pairsFrom } from '../metadata.ts';
import { scanColumns } from '../scan-columns.ts';
import type { ListedScan, ScanPage } from '../service/messages.ts';
import { tableOf, type Column } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { print } from './format.ts';
import { defineCommand } from './command.ts';
import { COMMON_OPTIONS, outputOf } from './output.ts';
import { numberOf } from '../number-of.ts';
import { connect } from './service.ts';

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
  { heading: 'ID', value: ({ scan_id: id }) => id },
  ...scanColumns(scans),
  { heading: 'MESSAGE', value: ({ message }) => message, wide: true },
];

function textOf({ data, next_cursor: cursor }: ScanPage, terminal: Pick<Terminal, 'color' | 'unicode'>, wide: boolean): string {
  if (data.length === 0) return cursor === null ? 'No scans.\n' : 'No scans among the newest ones. There may be older ones.\n';
  const more = cursor === null ? '' : `There are more scans: increase --limit (at most ${LISTED_MAX}).\n`;
  return `${tableOf(columnsOf(data), data, terminal, wide)}${more}`;
}
