/** The end of a scan that was followed with kubectl: its reports and its result. */
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import { reportEnd, type InterruptHint, type CliContext, type Output } from '../commands/output.ts';
import type { Files } from '../service/files.ts';
import { commandLine } from './connect.ts';
import { followResource } from './follow.ts';
import type { Kubectl } from './kubectl.ts';
import { idOf, namedResultOf } from './scans.ts';

/** Saves the reports of a scan. */
export type Save = (scan: AccessibilityScan, files: Files) => Promise<void>;

/** Checks, before anything is created, that reports can be saved if the user wants them. @throws CliError if not */
export async function prepareFiles(output: Output, context: CliContext): Promise<Save> {
  if (Object.keys(output.files).length === 0) return async () => {};
  // Loaded only here: most commands do not need the API's schemas.
  const { connect } = await import('../commands/service.ts');
  const { checkFiles, saveReports } = await import('../service/reports.ts');
  const client = connect(context, output);
  await checkFiles(output.files);
  return (scan, files) => saveReports(client, idOf(scan), files);
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
  { output, save, quiet, context }: { output: Output; save: Save; quiet: boolean; context: CliContext },
): Promise<number> {
  const { progress } = output;
  const ended = await followResource(kubectl, name, { onStep: (step) => progress.step(step), onNote: (text) => progress.note(text) });
  return reportEnd(namedResultOf(ended), (files) => save(ended, files), output, quiet, context);
}
