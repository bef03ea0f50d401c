/** `kubectl curbcut follow NAME`: follows a scan to its verdict. */
import { onlyArgument, OUTPUT_OPTIONS, outputOf, parse, type InterruptHint, type CliContext } from '../../commands/output.ts';
import { connectKubectl } from '../connect.ts';
import { followAndReport, prepareReports, resourceContinues } from '../end.ts';
import { FOLLOW_HELP } from '../help.ts';
import { getScan, scanName } from '../scans.ts';

/** Runs the command. @returns its exit code @throws CliError */
export async function follow(args: readonly string[], context: CliContext, hint: InterruptHint): Promise<number> {
  const { values, positionals } = parse('follow', args, OUTPUT_OPTIONS);
  if (values.help) {
    context.stdout.write(FOLLOW_HELP);
    return 0;
  }
  const name = scanName(onlyArgument('follow', 'name of the scan', positionals));
  const output = outputOf('follow', values, context);
  const kubectl = connectKubectl(context, output);
  const reports = await prepareReports(output, context);
  await getScan(kubectl, name);
  resourceContinues(hint, name, context);
  try {
    return await followAndReport(kubectl, name, { output, reports, quiet: values.quiet, context });
  } finally {
    output.progress.end();
  }
}
