/** `kubectl curbcut queue [NAME]`: the queues, and the scans that wait in one. */
import type { ScanQueue } from '../../../core/protocol/custom-resources.ts';
import { print } from '../../commands/format.ts';
import { command, COMMON_OPTIONS, noMoreArguments, outputOf } from '../../commands/output.ts';
import { CliError } from '../../errors.ts';
import { tableOf, type Column } from '../../table.ts';
import { connectKubectl } from '../connect.ts';
import { QUEUE_HELP } from '../help.ts';
import { listEverywhere, positionsOf, QUEUES, waitingIn, type WaitingScan } from '../queues.ts';

const { quiet: _quiet, ...OPTIONS } = COMMON_OPTIONS;

export const queue = command('queue', OPTIONS, QUEUE_HELP, async ({ values, positionals }, context) => {
  const [name, ...others] = positionals;
  noMoreArguments('queue', others);
  const output = outputOf('queue', { ...values, quiet: false }, context);
  const kubectl = connectKubectl(context, output);
  const queues = (await listEverywhere<ScanQueue>(kubectl, QUEUES)).filter(({ metadata }) => name === undefined || metadata.name === name);
  if (name === undefined) {
    await print(context.stdout, output.format, { data: queues.map(dataOf) }, (wide) =>
      queues.length === 0 ? 'No queues.\n' : tableOf(COLUMNS, queues.map(dataOf), context.stdout, wide),
    );
    return 0;
  }
  if (queues.length === 0) throw new CliError(`There is no ScanQueue ${name}.`, 'Queues are in the namespace of Curbcut: use -n.');
  const waiting = await waitingIn(kubectl, name);
  const positions = waiting.length === 0 ? new Map<string, number>() : await positionsOf(name, waiting, context, output);
  const scans = waiting
    .map((scan) => ({ ...scan, position: positions?.get(scan.scan_id) ?? null }))
    .toSorted((a, b) => (a.position ?? Infinity) - (b.position ?? Infinity) || a.submitted_at.localeCompare(b.submitted_at));
  await print(context.stdout, output.format, { data: queues.map(dataOf), waiting: scans }, (wide) => {
    const table = tableOf(COLUMNS, queues.map(dataOf), context.stdout, wide);
    if (scans.length === 0) return `${table}\nNo scan waits in it that you may read.\n`;
    return `${table}\n${tableOf(WAITING, scans, context.stdout, wide)}${positions === null ? NO_POSITIONS : ''}`;
  });
  return 0;
});

const NO_POSITIONS = "Oldest first. Curbcut's API knows their order: set CURBCUT_URL and CURBCUT_API_KEY to see the positions.\n";

interface QueueRow {
  namespace: string;
  name: string;
  paused: boolean;
  running: number | null;
  max_running: number | null;
  max_running_per_organisation: number | null;
  waiting: number | null;
  oldest_wait_seconds: number | null;
}

/** A queue in the style of the API. What is null is not limited by the queue, or not known yet. */
function dataOf({ metadata, spec, status }: ScanQueue): QueueRow {
  return {
    namespace: metadata.namespace!,
    name: metadata.name,
    paused: spec.paused ?? false,
    running: status?.running ?? null,
    max_running: spec.maxRunning ?? null,
    max_running_per_organisation: spec.maxRunningPerOrganisation ?? null,
    waiting: status?.queued ?? null,
    oldest_wait_seconds: status?.oldestWaitSeconds ?? null,
  };
}

const COLUMNS: readonly Column<QueueRow>[] = [
  { heading: 'NAMESPACE', value: ({ namespace }) => namespace },
  { heading: 'NAME', value: ({ name }) => name },
  { heading: 'PAUSED', value: ({ paused }) => paused },
  { heading: 'RUNNING', value: ({ running }) => running },
  { heading: 'MAX', value: ({ max_running: max }) => max },
  { heading: 'MAX PER ORGANISATION', value: (row) => row.max_running_per_organisation, wide: true },
  { heading: 'WAITING', value: ({ waiting }) => waiting },
  { heading: 'OLDEST WAIT', value: ({ oldest_wait_seconds: seconds }) => (seconds === null ? null : durationOf(seconds)) },
];

const WAITING: readonly Column<WaitingScan & { position: number | null }>[] = [
  { heading: 'POSITION', value: ({ position }) => position },
  { heading: 'NAMESPACE', value: ({ namespace }) => namespace },
  { heading: 'NAME', value: ({ name }) => name },
  { heading: 'ORGANISATION', value: ({ organisation }) => organisation },
  { heading: 'PRIORITY', value: ({ priority }) => priority },
  { heading: 'SUBMITTED', value: ({ submitted_at: at }) => at.slice(0, 16).replace('T', ' ') },
  { heading: 'ID', value: ({ scan_id: id }) => id, wide: true },
  { heading: 'URL', value: ({ url }) => url, wide: true },
  { heading: 'MESSAGE', value: ({ message }) => message, wide: true },
];

/** Two units are enough: `2h5m`. */
function durationOf(seconds: number): string {
  const parts = [[Math.floor(seconds / 86_400), 'd'], [Math.floor(seconds / 3600) % 24, 'h'], [Math.floor(seconds / 60) % 60, 'm'], [seconds % 60, 's']] as const; // prettier-ignore
  const from = parts.findIndex(([count]) => count > 0);
  if (from === -1) return '0s';
  return parts.slice(from, from + 2).filter(([count]) => count > 0).map(([count, unit]) => `${count}${unit}`).join(''); // prettier-ignore
}
