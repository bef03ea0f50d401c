/** The end of a scan that was followed with kubectl: its reports and its result. */
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import type { ScoreFacts } from '../../report/view/score-sentence.ts';
import { reportEnd, type InterruptHint, type CliContext, type Output, type ReportSource } from '../commands/output.ts';
import { commandLine } from './connect.ts';
import { followResource } from './follow.ts';
import type { Kubectl } from './kubectl.ts';
import { idOf, namedResultOf, outcomeOfScan } from './scans.ts';

export type ReportsOf = (scan: AccessibilityScan) => ReportSource;

/** Checks, before anything is created, that reports can be saved if the user wants them. @throws CliError if not */
export async function prepareReports(output: Output, context: CliContext): Promise<ReportsOf> {
  // Only of the environment: a stored login may be for another service than that of this cluster.
  const { CURBCUT_URL: url, CURBCUT_API_KEY: key } = context.environment;
  // What to fix first is in the report too, but it needs no service to say why a scan did not pass.
  if (Object.keys(output.files).length === 0 && !(url && key))
    return (scan) => ({ save: () => Promise.resolve(), service: undefined, facts: factsOf(scan) });
  // Loaded only here: most commands do not need the API's schemas.
  const { connect, reportsOf } = await import('../commands/service.ts');
  const { checkFiles } = await import('../service/reports.ts');
  const client = connect(context, output);
  await checkFiles(output.files);
  return (scan) => ({ ...reportsOf(client, idOf(scan), output.files), facts: factsOf(scan) });
}

function factsOf(scan: AccessibilityScan): ScoreFacts | undefined {
  const outcome = outcomeOfScan(scan);
  return outcome === null ? undefined : { outcome, thresholds: scan.spec.thresholds ?? {} };
}

/** The hint of a command that follows a resource. */
export function resourceContinues(hint: InterruptHint, name: string, context: CliContext): void {
  hint.submitted = true;
  hint.lines = [
    'This command did not cancel the scan.',
    `To follow it again: ${commandLine(context, 'follow', name)}`,
    `To cancel it: ${commandLine(context, 'cancel', name)}`,
  ];
}

/** Follows a scan, saves its reports and prints its result. @returns the exit code */
export async function followAndReport(
  kubectl: Kubectl,
  name: string,
  { output, reports, quiet, context }: { output: Output; reports: ReportsOf; quiet: boolean; context: CliContext },
): Promise<number> {
  const { progress } = output;
  try {
    const ended = await followResource(kubectl, name, { onStep: (step) => progress.step(step), onNote: (text) => progress.note(text) });
    return await reportEnd(namedResultOf(ended), reports(ended), output, quiet, context);
  } finally {
    progress.end();
  }
}
