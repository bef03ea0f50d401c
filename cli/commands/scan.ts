/** `curbcut scan URL`: submits a scan and follows it to its verdict. */
import { createClient, type Submission } from '../client.ts';
import { UsageError } from '../errors.ts';
import { THRESHOLD_ARGUMENTS, thresholdsFrom, wcagOf } from '../options.ts';
import { checkFiles } from '../reports.ts';
import { readEnvironment } from '../config.ts';
import { SCAN_HELP } from './help.ts';
import { OUTPUT_OPTIONS, numberOf, outputOf, parse, followAndReport, waitNote, type ScanReference, type CliContext } from './output.ts';

const OPTIONS = {
  ...THRESHOLD_ARGUMENTS,
  'max-pages': { type: 'string' },
  wcag: { type: 'string' },
  partial: { type: 'boolean', default: false },
  'idempotency-key': { type: 'string' },
  ...OUTPUT_OPTIONS,
} as const;

/** Runs the command. @returns its exit code @throws CliError */
export async function scan(args: readonly string[], context: CliContext, reference: ScanReference): Promise<number> {
  const { values, positionals } = parse('scan', args, OPTIONS);
  if (values.help) {
    context.stdout.write(SCAN_HELP);
    return 0;
  }
  const [url, ...others] = positionals;
  if (url === undefined) throw new UsageError('The URL is missing.', 'scan');
  if (others.length > 0) throw new UsageError(`Too many arguments: ${others.join(' ')}`, 'scan');
  const submission: Submission = {
    url,
    thresholds: thresholdsFrom(values),
    maxPages: numberOf('scan', 'max-pages', values['max-pages'], true),
    ...wcagOf(values.wcag),
    partial: values.partial,
  };
  const output = outputOf('scan', values, context);
  const { CURBCUT_URL: baseUrl, CURBCUT_API_KEY: apiKey } = readEnvironment(context.environment);
  await checkFiles(output.files);
  const client = createClient({ ...context, baseUrl, apiKey, maxWaitSeconds: output.maxWaitSeconds, onWait: waitNote(output.progress) });
  const idempotencyKey = values['idempotency-key'] ?? context.newId();
  reference.idempotencyKey = idempotencyKey;
  try {
    const accepted = await client.submit(submission, idempotencyKey);
    reference.scanId = accepted.scan_id;
    output.progress.note(`Scan ${accepted.scan_id}`);
    if (accepted.pages_reserved < accepted.pages_requested)
      output.progress.note(`There are only enough credits for ${accepted.pages_reserved} of ${accepted.pages_requested} pages.`);
    return await followAndReport(client, accepted.scan_id, output, values.quiet, context);
  } finally {
    output.progress.end();
  }
}
