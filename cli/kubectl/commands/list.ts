/** `kubectl curbcut list`: the scans of a namespace, newest first. */
import type { AccessibilityScan } from '../../../core/protocol/custom-resources.ts';
import { print } from '../../commands/format.ts';
import { command, COMMON_OPTIONS, noMoreArguments, outputOf } from '../../commands/output.ts';
import { numberOf } from '../../number-of.ts';
import { pairsFrom } from '../../metadata.ts';
import { scanColumns } from '../../scan-columns.ts';
import { tableOf, type Column } from '../../table.ts';
import { connectKubectl } from '../connect.ts';
import { LIST_HELP } from '../help.ts';
import { namedResultOf, SCANS, type NamedResult } from '../scans.ts';

const { quiet: _quiet, ...common } = COMMON_OPTIONS;
const OPTIONS = {
  status: { type: 'string' },
  metadata: { type: 'string', multiple: true },
  limit: { type: 'string' },
  'all-namespaces': { type: 'boolean', short: 'A', default: false },
  ...common,
} as const;

export const list = command('list', OPTIONS, LIST_HELP, async ({ values, positionals }, context) => {
  noMoreArguments('list', positionals);
  const limit = numberOf('list', 'limit', values.limit, true) ?? Infinity;
  const wanted = Object.entries(pairsFrom('list', values.metadata));
  const everywhere = values['all-namespaces'];
  const output = outputOf('list', { ...values, quiet: false }, context);
  const kubectl = connectKubectl(context, output);
  const { items } = await kubectl.json<{ items: AccessibilityScan[] }>(['get', SCANS, ...(everywhere ? ['--all-namespaces'] : [])]);
  const found = items
    .map(namedResultOf)
    .filter(({ status }) => values.status === undefined || status === values.status)
    .filter(({ metadata }) => wanted.every(([key, value]) => metadata[key] === value))
    .toSorted((a, b) => b.submitted_at.localeCompare(a.submitted_at) || a.name.localeCompare(b.name));
  const data = found.slice(0, limit);
  const omitted = found.length - data.length;
  await print(context.stdout, output.format, { data, omitted }, (wide) => {
    if (found.length === 0) return 'No scans.\n';
    const columns = everywhere ? [NAMESPACE, ...columnsOf(data)] : columnsOf(data);
    return `${tableOf(columns, data, context.stdout, wide)}${omitted === 0 ? '' : `There are ${omitted} more: increase --limit.\n`}`;
  });
  return 0;
});

const NAMESPACE: Column<NamedResult> = { heading: 'NAMESPACE', value: ({ namespace }) => namespace };
const columnsOf = (scans: readonly NamedResult[]): Column<NamedResult>[] => [
  { heading: 'NAME', value: ({ name }) => name },
  { heading: 'ID', value: ({ scan_id: id }) => id, wide: true },
  ...scanColumns(scans),
  { heading: 'QUEUE', value: ({ queue_name: queue }) => queue, wide: true },
  { heading: 'MESSAGE', value: ({ message }) => message, wide: true },
];
