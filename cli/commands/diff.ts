/** `curbcut diff BEFORE AFTER`: compares two scans. */
import { diffReduced } from '../../report/diff/diff.ts';
import { reduceReport, type ReducedReport } from '../../report/diff/reduce.ts';
import type { Report } from '../../report/schema/schema.ts';
import { renderDiff } from '../diff-text.ts';
import { CliError } from '../errors.ts';
import type { Client } from '../service/client.ts';
import { readExport } from '../service/reports.ts';
import { resolveReference } from '../service/scan-reference.ts';
import { print } from './format.ts';
import { defineCommand } from './command.ts';
import { COMMON_OPTIONS, outputOf } from './output.ts';
import { connect } from './service.ts';

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
