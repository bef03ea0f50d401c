/** `curbcut follow ID`: follows a scan that was submitted earlier. */
import { checkFiles } from '../service/reports.ts';
import { resolveReference } from '../service/scan-reference.ts';
import { defineCommand } from './command.ts';
import { EXITS, OUTPUT_OPTIONS, outputOf } from './output.ts';
import { connect, followAndReport } from './service.ts';

export const follow = defineCommand(
  {
    description: 'Follows a scan to its end. The result of a completed scan is printed at once.',
    examples: `  curbcut follow latest
  curbcut follow 3f2b8c1e --pdf report.pdf`,
    exits: EXITS,
  },
  OUTPUT_OPTIONS,
  async ({ values, positionals }, context, hint) => {
    const [name] = positionals as [string];
    const output = outputOf('follow', values, context);
    const client = connect(context, output);
    await checkFiles(output.files);
    const scanId = await resolveReference(client, name, output.progress.note);
    return followAndReport(client, scanId, output, values.quiet, context, hint);
  },
);
