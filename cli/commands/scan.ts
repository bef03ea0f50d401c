/** `curbcut scan URL`: submits a scan and follows it to its verdict. */
import { createClient, type Submission } from '../client.ts';
import { UsageError } from '../errors.ts';
import { IMPACTS } from '../../core/scan/impacts.ts';
import { WCAG_LEVELS, WCAG_VERSIONS } from '../../core/scan/wcag.ts';
import { checkFiles } from '../reports.ts';
import { readEnvironment } from '../config.ts';
import { SCAN_HELP } from './help.ts';
import { OUTPUT_OPTIONS, numberOf, outputOf, parse, followAndReport, waitNote, type ScanReference, type CliContext } from './output.ts';

const OPTIONS = {
  'min-score': { type: 'string' },
  'max-violations': { type: 'string' },
  'fail-on': { type: 'string' },
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
    minScore: numberOf('scan', 'min-score', values['min-score'], false),
    maxViolations: numberOf('scan', 'max-violations', values['max-violations'], true),
    failOn: oneOf('fail-on', values['fail-on'], IMPACTS),
    maxPages: numberOf('scan', 'max-pages', values['max-pages'], true),
    wcag: wcagOf(values.wcag),
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

function oneOf<const T extends string>(option: string, text: string | undefined, allowed: readonly T[]): T | undefined {
  if (text === undefined) return undefined;
  const found = allowed.find((value) => value === text.toLowerCase());
  if (found === undefined) throw new UsageError(`--${option} ${text} must be one of ${allowed.join(', ')}.`, 'scan');
  return found;
}

function wcagOf(text: string | undefined): Submission['wcag'] {
  if (text === undefined) return undefined;
  const [, version, level] = /^(?:wcag)?\s*([\d.]+)[-\s]?(a{1,3})$/i.exec(text) ?? [];
  const found = { version: WCAG_VERSIONS.find((one) => one === version), level: WCAG_LEVELS.find((one) => one === level?.toUpperCase()) };
  if (found.version === undefined || found.level === undefined)
    throw new UsageError(`--wcag ${text} is not a valid target. Examples: 2.1-AA, 2.2-AAA.`, 'scan');
  return { version: found.version, level: found.level };
}
