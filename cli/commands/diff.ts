/** `curbcut diff BEFORE AFTER`: compares two scans. */
import { diffReduced, type ReportDiff } from '../../report/diff/diff.ts';
import { type ReducedReport, reduceReport } from '../../report/diff/reduce.ts';
import { elementPath } from '../../report/schema/page.ts';
import type { Report } from '../../report/schema/report.ts';
import type { CauseChange } from '../../report/schema/root-cause.ts';
import { CliError, printable } from '../errors.ts';
import type { Client } from '../service/client.ts';
import { readExport } from '../service/reports.ts';
import { resolveReference } from '../service/scan-reference.ts';
import { paint, type Paint, type Terminal } from '../terminal.ts';
import { plural } from '../values.ts';
import { print } from './format.ts';
import { defineCommand } from './command.ts';
import { COMMON_OPTIONS, outputOf } from './output.ts';
import { connect } from './service.ts';

/** The difference of two scans as text. Longer selectors are cut off. */
const SELECTOR_MAX = 160;

/** Renders a difference: the numbers, new violations, fixed ones, those that were not tested, and notes about the scans. */
export function renderDiff(diff: ReportDiff, terminal: Pick<Terminal, 'color' | 'unicode'>, wide = false): string {
  const [good, bad, dash] = terminal.unicode ? ['✓', '✗', '–'] : ['+', 'x', '-'];
  const lines = [
    ...section(`New: ${plural(elementsOf(diff.new), 'violation')}`, diff.new, { mark: bad, colour: 'red', terminal, wide }),
    ...section(`Fixed: ${plural(elementsOf(diff.fixed), 'violation')}`, diff.fixed, { mark: good, colour: 'green', terminal, wide }),
    `Unchanged: ${plural(diff.unchanged, 'violation')}`,
  ];
  if (diff.not_tested.length > 0) {
    const heading = `Not tested again: ${plural(elementsOf(diff.not_tested), 'violation')} on pages that only the first scan tested`;
    lines.push(...section(heading, diff.not_tested, { mark: dash, colour: 'yellow', terminal, wide }));
  }
  const { in_both, only_before, only_after } = diff.pages;
  lines.push(`Pages: ${in_both} compared, ${only_before} only in the first scan, ${only_after} only in the second`);
  for (const { message, before, after } of diff.comparable)
    lines.push(`Note: ${message} (${printable(before)} ${dash} ${printable(after)})`);
  return `${lines.join('\n')}\n`;
}

const elementsOf = (changes: readonly CauseChange[]): number => changes.reduce((sum, { elements }) => sum + elements, 0);

interface Style {
  mark: string;
  colour: Paint;
  terminal: Pick<Terminal, 'color'>;
  wide: boolean;
}

function section(heading: string, changes: readonly CauseChange[], style: Style): string[] {
  return [
    paint(style.terminal, 'bold', heading),
    ...changes.flatMap((change) => causeLines(change, style)),
    ...(changes.length > 0 ? [''] : []),
  ];
}

function causeLines(change: CauseChange, { mark, colour, terminal, wide }: Style): string[] {
  const {
    rule,
    impact,
    wcag,
    help,
    elements,
    pages,
    examples,
    fingerprint,
    help_url,
    on_new_pages: onNewPages,
    on_new_states: onNewStates = 0,
  } = change;
  const facts = [
    impact,
    ...(wcag.length > 0 ? [`WCAG ${wcag.join(', ')}`] : []),
    `${plural(elements, 'element')} on ${plural(pages, 'page')}`,
    ...(onNewStates > 0 ? [`${onNewStates} of them on a new state`] : []),
    ...(onNewPages > 0 ? [onNewPages === elements ? 'only on new pages' : `${onNewPages} of them on new pages`] : []),
    ...(wide ? [`root cause ${fingerprint}`] : []),
  ];
  const more = elements - examples.length;
  return [
    `  ${paint(terminal, colour, mark)} ${printable(`${rule}: ${help}`)}`,
    `    ${printable(facts.join(', '))}`,
    ...(wide ? [`    ${printable(help_url)}`] : []),
    ...examples.map((example) => `    ${printable(example.page)}  ${selectorOf(example)}`),
    ...(more > 0 ? [`    and ${more} more`] : []),
  ];
}

function selectorOf(element: CauseChange['examples'][number]): string {
  const path = printable(elementPath(element));
  return path.length <= SELECTOR_MAX ? path : `${path.slice(0, SELECTOR_MAX)}…`;
}

const OPTIONS = { 'exit-zero': { meaning: 'exit with 0 whatever the comparison shows' }, ...COMMON_OPTIONS } as const;

/** Exit code 1 if there are new violations. @throws CliError, also if a partial report has none */
export const diff = defineCommand(
  {
    description:
      'Compares two scans that are done; shows the violations that are new, fixed, or on pages that the second scan did not test. An element that moved or was rendered again is not new.',
    examples: `  curbcut diff 3f2b8c1e latest`,
    exits: `  0    there are no new violations
  1    there are new violations
  2    the scans could not be compared: an unknown ID, a scan without a JSON export, invalid arguments, no network, …
       Or the later scan was canceled, and the pages that it tested have no new violations.`,
  },
  OPTIONS,
  async ({ values, positionals }, context) => {
    const [before, after] = positionals as [string, string];
    const output = outputOf('diff', values, context);
    const client = connect(context, output);
    const ids = [
      await resolveReference(client, before, output.progress.note),
      await resolveReference(client, after, output.progress.note),
    ] as const;
    // One after the other: an export needs much more memory than what is kept of it.
    const first = await readReduced(client, ids[0]);
    if (first.about.partial)
      throw new CliError(
        `The report of scan ${ids[0]} is partial, because the scan was canceled: no other scan is compared with it.`,
        'Name an earlier scan that is done.',
      );
    const second = await readReduced(client, ids[1]);
    const compared = diffReduced(first, second);
    if (!values.quiet)
      await print(context.stdout, output.format, { before: ids[0], after: ids[1], ...compared }, (wide) =>
        renderDiff(compared, context.stdout, wide),
      );
    if (values['exit-zero']) return 0;
    // A build must not pass because its scan was canceled.
    if (compared.new.length === 0 && second.about.partial)
      throw new CliError(
        `The report of scan ${ids[1]} is partial, because the scan was canceled: other pages may have new violations.`,
        'Name a later scan that is done, or use --exit-zero.',
      );
    return compared.new.length > 0 ? 1 : 0;
  },
);

/** @throws CliError */
async function readReduced(client: Client, scanId: string): Promise<ReducedReport> {
  const report = await readExport(client, scanId);
  try {
    return reduceReport(report as Report);
  } catch {
    throw new CliError(
      `This command does not understand the JSON export of scan ${scanId}.`,
      'Check that this command is not older than the service.',
    );
  }
}
