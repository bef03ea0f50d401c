/** `curbcut follow ID`: follows a scan that was submitted earlier. */
import { createClient } from '../client.ts';
import { UsageError } from '../errors.ts';
import { checkFiles } from '../reports.ts';
import { readEnvironment } from '../config.ts';
import { FOLLOW_HELP } from './help.ts';
import { OUTPUT_OPTIONS, outputOf, parse, followAndReport, waitNote, type ScanReference, type CliContext } from './output.ts';

/** Runs the command. @returns its exit code @throws CliError */
export async function follow(args: readonly string[], context: CliContext, reference: ScanReference): Promise<number> {
  const { values, positionals } = parse('follow', args, OUTPUT_OPTIONS);
  if (values.help) {
    context.stdout.write(FOLLOW_HELP);
    return 0;
  }
  const [scanId, ...others] = positionals;
  if (scanId === undefined) throw new UsageError('The scan ID is missing.', 'follow');
  if (others.length > 0) throw new UsageError(`Too many arguments: ${others.join(' ')}`, 'follow');
  const output = outputOf('follow', values, context);
  const { CURBCUT_URL: baseUrl, CURBCUT_API_KEY: apiKey } = readEnvironment(context.environment);
  await checkFiles(output.files);
  const client = createClient({ ...context, baseUrl, apiKey, maxWaitSeconds: output.maxWaitSeconds, onWait: waitNote(output.progress) });
  reference.scanId = scanId;
  try {
    return await followAndReport(client, scanId, output, values.quiet, context);
  } finally {
    output.progress.end();
  }
}
