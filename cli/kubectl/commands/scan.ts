/** `kubectl curbcut scan URL`: creates an AccessibilityScan and follows it to its verdict. */
import { readAddress } from '../../../core/scan/typed-address.ts';
import type { AccessibilityScanSpec } from '../../../core/protocol/custom-resources.ts';
import { command, onlyArgument, OUTPUT_OPTIONS, outputOf } from '../../commands/output.ts';
import { UsageError } from '../../errors.ts';
import { METADATA_ARGUMENTS, metadataFrom } from '../../metadata.ts';
import { BASELINE_ARGUMENTS, baselineFrom, SITE_ARGUMENTS, siteOptionsFrom, THRESHOLD_ARGUMENTS, thresholdsFrom } from '../../options.ts';
import { connectKubectl } from '../connect.ts';
import { followAndReport, prepareReports, resourceContinues } from '../end.ts';
import { createScan, newName } from '../scans.ts';
import { SCAN_HELP } from './scan-help.ts';

const OPTIONS = {
  ...THRESHOLD_ARGUMENTS,
  ...SITE_ARGUMENTS,
  ...BASELINE_ARGUMENTS,
  ...METADATA_ARGUMENTS,
  name: { type: 'string' },
  queue: { type: 'string' },
  priority: { type: 'string' },
  partial: { type: 'boolean', default: false },
  'idempotency-key': { type: 'string' },
  ...OUTPUT_OPTIONS,
} as const;

export const scan = command('scan', OPTIONS, SCAN_HELP, async ({ values, positionals }, context, hint) => {
  const url = onlyArgument('scan', 'URL', positionals);
  if (values.partial) throw new UsageError('--partial is an option of `curbcut scan` only.', 'scan');
  if (values['idempotency-key'] !== undefined)
    throw new UsageError('--idempotency-key is an option of `curbcut scan` only; a --name is used once.', 'scan');
  const thresholds = thresholdsFrom(values);
  const spec: AccessibilityScanSpec = defined({
    ...readAddress(url),
    ...(await siteOptionsFrom(values)),
    thresholds: noneOr(thresholds),
    ...baselineFrom(values, thresholds),
    queue: values.queue,
    priority: priorityOf(values.priority),
  });
  const requestId = context.newId();
  const name = values.name ?? newName(spec.url, requestId);
  const output = outputOf('scan', values, context);
  const metadata = metadataFrom('scan', values, context.environment, output.progress.note);
  const kubectl = connectKubectl(context, output);
  const reports = await prepareReports(output, context);
  resourceContinues(hint, name, context);
  hint.lines[0] = 'It is unknown whether the scan was created.';
  hint.submitted = false;
  const created = await createScan(kubectl, { name, spec, requestId, metadata });
  resourceContinues(hint, name, context);
  output.progress.note(`AccessibilityScan ${created.metadata.namespace!}/${name}`);
  return followAndReport(kubectl, name, { output, reports, quiet: values.quiet, context });
});

/** Removes fields without a value: a manifest states only what the user stated. */
function defined(spec: { [Field in keyof AccessibilityScanSpec]: AccessibilityScanSpec[Field] | undefined }): AccessibilityScanSpec {
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined)) as unknown as AccessibilityScanSpec;
}

const noneOr = <T extends object>(value: T): T | undefined => (Object.keys(value).length === 0 ? undefined : value);

function priorityOf(text: string | undefined): number | undefined {
  if (text === undefined || /^-?\d{1,9}$/.test(text)) return text === undefined ? undefined : Number(text);
  throw new UsageError(`--priority ${text} is not a whole number.`, 'scan');
}
