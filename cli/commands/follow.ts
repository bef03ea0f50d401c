/** `curbcut follow ID`: follows a scan that was submitted earlier. */
import { checkFiles } from '../service/reports.ts';
import { FOLLOW_HELP } from './help.ts';
import { OUTPUT_OPTIONS, onlyArgument, outputOf, parse, scanContinues, type InterruptHint, type CliContext } from './output.ts';
import { connect, followAndReport, scanIdOf } from './service.ts';

/** Runs the command. @returns its exit code @throws CliError */
export async function follow(args: readonly string[], context: CliContext, hint: InterruptHint): Promise<number> {
  const { values, positionals } = parse('follow', args, OUTPUT_OPTIONS);
  if (values.help) {
    context.stdout.write(FOLLOW_HELP);
    return 0;
  }
  const name = onlyArgument('follow', 'scan ID', positionals);
  const output = outputOf('follow', values, context);
  const client = connect(context, output);
  await checkFiles(output.files);
  const scanId = await scanIdOf(name, client, context, output);
  scanContinues(hint, scanId);
  try {
    return await followAndReport(client, scanId, output, values.quiet, context);
  } finally {
    output.progress.end();
  }
}
