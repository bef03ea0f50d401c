/** `curbcut cancel ID`: cancels a scan. */
import { isTerminal } from '../../core/scan/phases.ts';
import { printable } from '../errors.ts';
import { resolveReference } from '../service/scan-reference.ts';
import type { ScanResult } from '../service/messages.ts';
import { hasResult } from '../summary.ts';
import { print } from './format.ts';
import { defineCommand } from './command.ts';
import { COMMON_OPTIONS, outputOf } from './output.ts';
import { connect } from './service.ts';

/** Exit code 1 if the scan has ended already, and not as canceled. */
export const cancel = defineCommand(
  {
    description:
      'Cancels a scan. Its tested pages are charged and have a partial report, the other credits are released. The scan ends when the report is stored, within seconds and after a minute at most; curbcut follow waits for its end.',
    examples: `  curbcut cancel 3f2b8c1e`,
    exits: `  0    the scan is being canceled, or was canceled before
  1    the scan has already ended otherwise
  2    the scan could not be canceled: an unknown ID, invalid arguments, no network, …`,
  },
  COMMON_OPTIONS,
  async ({ values, positionals }, context, hint) => {
    const [name] = positionals as [string];
    const output = outputOf('cancel', values, context);
    const client = connect(context, output);
    const scanId = await resolveReference(client, name, output.progress.note);
    hint.lines = [`It is unknown whether the scan was canceled. Run the same command again: curbcut cancel ${scanId}`];
    const { accepted, result } = await client.cancel(scanId);
    if (!values.quiet) await print(context.stdout, output.format, result, () => `${sentenceOf(scanId, accepted, result)}\n`);
    // A scan that has ended as canceled may be the effect of a first request whose response was lost.
    return accepted || result.status === 'canceled' ? 0 : 1;
  },
);

function sentenceOf(scanId: string, accepted: boolean, result: ScanResult): string {
  const { status } = result;
  if (status === 'canceled')
    return hasResult(result)
      ? `The scan is canceled.\nTo get the report of the pages that were tested until then: curbcut report ${scanId}`
      : 'The scan is canceled.';
  if (isTerminal(status)) return `The scan has already ended (${printable(status)}); nothing was canceled.`;
  // The end is stored a moment after the scan has ended in the cluster.
  if (!accepted) return `The scan has already ended; nothing was canceled.\nTo see how: curbcut follow ${scanId}`;
  return [
    'The scan is being canceled. Tested pages are charged, the other credits are released.',
    `To wait for its end: curbcut follow ${scanId}`,
    `To get the report of the tested pages afterwards: curbcut report ${scanId}`,
  ].join('\n');
}
