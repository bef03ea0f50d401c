/** `kubectl curbcut follow NAME`: follows a scan to its verdict. */
import { command, onlyArgument, OUTPUT_OPTIONS, outputOf } from '../../commands/output.ts';
import { connectKubectl } from '../connect.ts';
import { followAndReport, prepareReports, resourceContinues } from '../end.ts';
import { FOLLOW_HELP } from '../help.ts';
import { getScan, scanName } from '../scans.ts';

export const follow = command('follow', OUTPUT_OPTIONS, FOLLOW_HELP, async ({ values, positionals }, context, hint) => {
  const name = scanName(onlyArgument('follow', 'name of the scan', positionals));
  const output = outputOf('follow', values, context);
  const kubectl = connectKubectl(context, output);
  const reports = await prepareReports(output, context);
  await getScan(kubectl, name);
  resourceContinues(hint, name, context);
  return followAndReport(kubectl, name, { output, reports, quiet: values.quiet, context });
});
