/** `curbcut run schedule/NAME`: runs a ScanSchedule now. */
import { print } from '../../commands/format.ts';
import { command, onlyArgument, OUTPUT_OPTIONS, outputOf } from '../../commands/output.ts';
import { UsageError } from '../../errors.ts';
import { METADATA_ARGUMENTS, metadataFrom } from '../../metadata.ts';
import { commandLine, connectKubectl } from '../connect.ts';
import { followAndReport, prepareReports, resourceContinues } from '../end.ts';
import { RUN_HELP } from '../help.ts';
import { namedResultOf } from '../scans.ts';
import { awaitRun, requestRun, scheduleName } from '../schedules.ts';

const OPTIONS = { wait: { type: 'boolean', default: false }, ...METADATA_ARGUMENTS, ...OUTPUT_OPTIONS } as const;

export const run = command('run', OPTIONS, RUN_HELP, async ({ values, positionals }, context, hint) => {
  const schedule = scheduleName(onlyArgument('run', 'schedule', positionals));
  const output = outputOf('run', values, context);
  const [file] = Object.keys(output.files);
  if (!values.wait && file !== undefined) throw new UsageError(`--${file} needs --wait: the scan has no reports before its end.`, 'run');
  const metadata = metadataFrom('run', values, context.environment, output.progress.note);
  const kubectl = connectKubectl(context, output);
  const reports = await prepareReports(output, context);
  const token = context.newId();
  hint.lines = [`The run was requested and may start later. To see its scans: ${commandLine(context, 'list')}`];
  await requestRun(kubectl, schedule, { token, metadata });
  hint.submitted = true;
  const scan = await awaitRun(kubectl, schedule, token, (text) => output.progress.note(text));
  const { name } = scan.metadata;
  resourceContinues(hint, name, context);
  if (!values.wait) {
    const said = `${name}\n`;
    if (!values.quiet) await print(context.stdout, output.format, namedResultOf(scan), () => said);
    return 0;
  }
  output.progress.note(`AccessibilityScan ${scan.metadata.namespace!}/${name}`);
  return followAndReport(kubectl, name, { output, reports, quiet: values.quiet, context });
});
