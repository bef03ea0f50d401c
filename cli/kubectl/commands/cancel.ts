/** `kubectl curbcut cancel NAME`: cancels a scan. */
import type { AccessibilityScan } from '../../../core/protocol/custom-resources.ts';
import { print } from '../../commands/format.ts';
import { command, COMMON_OPTIONS, onlyArgument, outputOf } from '../../commands/output.ts';
import { commandLine, connectKubectl } from '../connect.ts';
import { hasResult } from '../../summary.ts';
import { CANCEL_HELP } from '../help.ts';
import { getScan, hasEnded, namedResultOf, scanName, SCANS } from '../scans.ts';

const REPORT = 'status.reports has the paths of the report of the pages that were tested until then.';
const CANCEL = JSON.stringify({ spec: { cancel: true } });

/** Exit code 1 if the scan has ended already, and not as canceled. */
export const cancel = command('cancel', COMMON_OPTIONS, CANCEL_HELP, async ({ values, positionals }, context) => {
  const name = scanName(onlyArgument('cancel', 'name of the scan', positionals));
  const output = outputOf('cancel', values, context);
  const kubectl = connectKubectl(context, output);
  const present = await getScan(kubectl, name);
  const accepted = !hasEnded(present);
  const scan = accepted ? await kubectl.json<AccessibilityScan>(['patch', SCANS, name, '--type=merge', '-p', CANCEL]) : present;
  const result = namedResultOf(scan);
  const said = accepted
    ? `The scan is being canceled. Tested pages are charged and have a report, the other credits are released.\nTo wait for its end: ${commandLine(context, 'follow', name)}\n`
    : result.status === 'canceled'
      ? `The scan is canceled.${hasResult(result) ? ` ${REPORT}` : ''}\n`
      : `The scan has already ended (${result.status}); nothing was canceled.\n`;
  if (!values.quiet) await print(context.stdout, output.format, result, () => said);
  return accepted || result.status === 'canceled' ? 0 : 1;
});
