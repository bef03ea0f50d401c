/** `curbcut scan URL`: submits a scan and follows it to its verdict. */
import { readAddress } from '../../core/scan/site.ts';
import { UsageError } from '../errors.ts';
import type { Thresholds } from '../../core/scan/thresholds.ts';
import type { Submission } from '../service/client.ts';
import type { LocalScan } from './local-scan.ts';
import {
  baselineFrom,
  countFrom,
  idempotencyKeyOf,
  SCAN_OPTIONS,
  type BaselineValues,
  siteOptionsFrom,
  withListedPages,
  thresholdsFrom,
} from '../options.ts';
import { metadataFrom, sameMetadata } from '../metadata.ts';
import { isReference, resolveReference } from '../service/scan-reference.ts';
import { checkFiles } from '../service/reports.ts';
import { defineCommand } from './command.ts';
import { EXITS, OUTPUT_OPTIONS, outputOf, scanContinues, type CliContext } from './output.ts';
import { connect, followAndReport } from './service.ts';

export const scan = defineCommand(
  {
    description: 'Crawls the site of URL, tests each page, and reports whether the thresholds are met.',
    examples: `  curbcut scan https://www.example.org/ --max-pages 50 \\
    --min-score 90 --fail-on serious
  curbcut scan https://pr-7.example.org/ --baseline branch=main \\
    --max-new-violations 0 --export report.json
  curbcut scan http://localhost:3000/ --local \\
    --known-issues known.yaml --known-issues-site www.example.org \\
    --fail-on minor`,
    exits: EXITS,
  },
  { ...SCAN_OPTIONS, ...OUTPUT_OPTIONS },
  async ({ values, positionals }, context, hint) => {
    const [url] = positionals as [string];
    const thresholds = thresholdsFrom(values);
    const described = withListedPages({ ...readAddress(url), thresholds, ...(await siteOptionsFrom(values)) });
    const { 'known-issues': file, 'known-issues-site': site } = values;
    if (site !== undefined && file === undefined) throw new UsageError('--known-issues-site needs --known-issues.', 'scan');
    if (values.local)
      return await local(
        {
          ...described,
          auth: values.auth,
          baseline: localBaseline(values, thresholds),
          knownIssues: file === undefined ? undefined : { file, site },
        },
        values,
        context,
      );
    if (file !== undefined)
      throw new UsageError('--known-issues needs --local. A service has its own: apply the manifest with kubectl.', 'scan');
    const baseline = baselineFrom(await withBaselineId(values, context), thresholds);
    if (values.auth !== undefined)
      throw new UsageError('--auth needs --local. A service signs in with --auth-secret, or as its scan in Kubernetes says.', 'scan');
    const authSecret = values['auth-secret'];
    const idempotencyKey = idempotencyKeyOf(values['idempotency-key']) ?? context.newId();
    const output = outputOf('scan', values, context);
    const metadata = metadataFrom('scan', values, context.environment, output.progress.note);
    const submission: Submission = { ...described, ...baseline, metadata, authSecret, partial: values.partial };
    const client = connect(context, output);
    await checkFiles(output.files);
    hint.lines = [
      `It is unknown whether a scan was submitted. To find out without being charged twice, run the same command with --idempotency-key ${idempotencyKey}${sameMetadata(metadata, values)}`,
    ];
    const accepted = await client.submit(submission, idempotencyKey);
    scanContinues(hint, accepted.scan_id);
    output.progress.note(`Scan ${accepted.scan_id}`);
    if (accepted.pages_reserved < accepted.pages_requested)
      output.progress.note(`There are only enough credits for ${accepted.pages_reserved} of ${accepted.pages_requested} pages.`);
    return followAndReport(client, accepted.scan_id, output, values.quiet, context, hint);
  },
);

/** Replaces `latest` or the beginning of an ID by the ID. @throws CliError */
async function withBaselineId<T extends BaselineValues & Parameters<typeof outputOf>[1]>(values: T, context: CliContext): Promise<T> {
  const { baseline } = values;
  if (baseline === undefined || !isReference(baseline)) return values;
  const output = outputOf('scan', values, context);
  return { ...values, baseline: await resolveReference(connect(context, output), baseline, output.progress.note) };
}

/** The file of the baseline, and whether the scan may pass if it cannot be compared. @throws UsageError */
function localBaseline(values: BaselineValues, { maxNewViolations }: Thresholds): LocalScan['baseline'] {
  const { baseline: file, 'baseline-optional': optional } = values;
  if (values['baseline-site'] !== undefined || (file === undefined && (optional || values['baseline-count'] !== undefined)))
    throw new UsageError('--baseline-site needs a service, and --baseline-optional and --baseline-count a --baseline.', 'scan');
  if (file === undefined && maxNewViolations !== undefined)
    throw new UsageError('--max-new-violations needs --baseline with the JSON export of an earlier scan.', 'scan');
  return file === undefined ? undefined : { file, optional, ...countFrom(values) };
}

/** @throws UsageError for options that need a service */
async function local(
  scan: LocalScan,
  values: Parameters<typeof outputOf>[1] &
    Parameters<typeof metadataFrom>[1] & {
      partial: boolean;
      parallelism?: string;
      'auth-secret'?: string;
      'idempotency-key'?: string;
      quiet: boolean;
    },
  context: CliContext,
): Promise<number> {
  if (values['auth-secret'] !== undefined)
    throw new UsageError('--auth-secret is about a Secret of the service; with --local, sign in with --auth FOLDER.', 'scan');
  if (values.parallelism !== undefined) throw new UsageError('--parallelism is about pods of the service, not about --local.', 'scan');
  if (values.partial || values['idempotency-key'] !== undefined)
    throw new UsageError('--partial and --idempotency-key are about credits, which a scan with --local does not need.', 'scan');
  const output = outputOf('scan', values, context);
  const metadata = metadataFrom('scan', values, context.environment, output.progress.note);
  const { scanLocally } = await import('./local-scan.ts');
  try {
    return await scanLocally({ ...scan, metadata }, output, values.quiet, context);
  } finally {
    output.progress.end();
  }
}
