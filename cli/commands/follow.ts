/** `curbcut follow ID`: follows a scan that was submitted earlier. */
import { checkFiles } from '../service/reports.ts';
import { resolveReference } from '../service/scan-reference.ts';
import { FOLLOW_HELP } from './help.ts';
import { command, OUTPUT_OPTIONS, onlyArgument, outputOf, scanContinues } from './output.ts';
import { connect, followAndReport } from './service.ts';

export const follow = command('follow', OUTPUT_OPTIONS, FOLLOW_HELP, async ({ values, positionals }, context, hint) => {
  const name = onlyArgument('follow', 'scan ID', positionals);
  const output = outputOf('follow', values, context);
  const client = connect(context, output);
  await checkFiles(output.files);
  const scanId = await resolveReference(client, name, output.progress.note);
  scanContinues(hint, scanId);
  return followAndReport(client, scanId, output, values.quiet, context);
});
