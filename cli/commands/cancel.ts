/** `curbcut cancel ID`: cancels a scan. */
import { isTerminal } from '../../core/scan/phases.ts';
import { printable } from '../errors.ts';
import { resolveReference } from '../service/scan-reference.ts';
import type { ScanResult } from '../service/messages.ts';
import { hasResult } from '../summary.ts';
import { print } from './format.ts';
import { CANCEL_HELP } from './help.ts';
import { command, COMMON_OPTIONS, onlyArgument, outputOf } from './output.ts';
import { connect } from './service.ts';

/** Exit code 1 if the scan has ended already, and not as canceled. */
export const cancel = command('cancel', COMMON_OPTIONS, CANCEL_HELP, async ({ values, positionals }, context, hint) => {
  const name = onlyArgument('cancel', 'scan ID', positionals);
  const output = outputOf('cancel', values, context);
  const client = connect(context, output);
  const scanId = await resolveReference(client, name, output.progress.note);
  hint.lines = [`It is unknown whether the scan was canceled. Run the same command again: curbcut cancel ${scanId}`];
  const { accepted, result } = await client.cancel(scanId);
  if (!values.quiet) await print(context.stdout, output.format, result, () => `${sentenceOf(scanId, accepted, result)}\n`);
  // A scan that has ended as canceled may be the effect of a first request whose response was lost.
  return accepted || result.status === 'canceled' ? 0 : 1;
});

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
