/** What the commands share: options, notices, and the output at the end of a scan. Loads neither HTTP client nor schemas. */
import { FORMAT_OPTIONS, formatOf, isData, print, type Format } from './format.ts';
import { CliError, printable, printableLines, ServiceUnavailable, UsageError } from '../errors.ts';
import { numberOf } from '../values.ts';
import type { ScanResult } from '../service/messages.ts';
import { CSV_TABLES } from '../../report/schema/objects.ts';
import type { Report } from '../../report/schema/report.ts';
import type { ScoreFacts } from '../../report/view/verdict.ts';
import type { Explanation } from '../explanation.ts';
import { absolute, dashboardLink } from '../links.ts';
import { noProgress, showProgress, type ProgressView } from '../progress.ts';
import { givenFiles, type FileOptions, type Files } from '../service/reports.ts';
import { exitCodeOf, hasResult, renderDetails, renderVerdict } from '../summary.ts';
import type { Terminal } from '../terminal.ts';

/** The options of most commands. */
export const COMMON_OPTIONS = {
  ...FORMAT_OPTIONS,
  quiet: { meaning: 'print only errors' },
  'max-wait': {
    value: 'SECONDS',
    default: '300',
    meaning: 'total time to wait for a service that is unavailable, busy or paused (default 300); it does not limit the scan itself',
  },
} as const;

const REPORTS = 'Reports:';

/** The options of the commands that follow a scan. */
export const OUTPUT_OPTIONS = {
  pdf: { value: 'FILE', meaning: 'save the PDF report', group: REPORTS },
  html: { value: 'FILE', meaning: 'save the report as one HTML file with pictures, to send', group: REPORTS },
  export: { value: 'FILE', meaning: 'save the JSON export', group: REPORTS },
  sarif: { value: 'FILE', meaning: 'save SARIF 2.1.0, for code scanning', group: REPORTS },
  junit: { value: 'FILE', meaning: 'save JUnit XML, for test reports of CI systems', group: REPORTS },
  codequality: { value: 'FILE', meaning: 'save Code Quality, for merge requests of GitLab', group: REPORTS },
  earl: { value: 'FILE', meaning: 'save EARL 1.0 as JSON-LD, for accessibility tools', group: REPORTS },
  csv: { value: 'FILE', meaning: 'save CSV, for spreadsheets', group: REPORTS },
  'csv-table': {
    value: 'TABLE',
    choices: Object.keys(CSV_TABLES),
    meaning: `what has a line in --csv: ${Object.keys(CSV_TABLES).join(', ')} (default elements)`,
    group: REPORTS,
  },
  openacr: { value: 'FILE', meaning: 'save a draft of an accessibility conformance report, as OpenACR', group: REPORTS },
  barriers: { value: 'FILE', meaning: 'save the known barriers as Markdown, for an accessibility statement', group: REPORTS },
  ...COMMON_OPTIONS,
} as const;

/** The exit codes of the commands that end with a verdict. */
export const EXITS = `  0    passed, or done without thresholds
  1    did not pass
  2    no verdict could be determined: invalid arguments, no network, no credits, a scan that failed without thresholds, …
  130  interrupted (143: terminated); the scan continues: curbcut follow resumes, curbcut cancel ends it`;

/** What a command needs of its process. */
export interface CliContext {
  stdout: Terminal;
  stderr: Terminal;
  environment: Record<string, string | undefined>;
  version: string;
  /** The file of the scanner's program, which may be missing. */
  scanner: string;
  /** Aborted on SIGINT or SIGTERM; the reason is the signal's name. */
  signal: AbortSignal;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  monotonic: () => number;
  newId(): string;
  /** Reads a secret from the terminal without showing it, or all of standard input if that is no terminal. Empty: there is none. */
  readSecret(prompt: string): Promise<string>;
}

/** What the user can do after a command was interrupted. */
export interface InterruptHint {
  /** Empty: nothing was changed. */
  lines: string[];
  /** Whether a scan certainly runs. Otherwise the hint applies only if a request was not answered. */
  submitted: boolean;
}

/** The hint of a command that follows a scan. @param waitsFor what the scan waits for, if it is known */
export function scanContinues(hint: InterruptHint, scanId: string, waitsFor: string | null = null): void {
  hint.submitted = true;
  hint.lines = [
    ...(waitsFor === null ? [] : [printable(waitsFor)]),
    'This command did not cancel the scan.',
    `To follow it again: curbcut follow ${scanId}`,
    `To cancel it: curbcut cancel ${scanId}`,
  ];
}

export interface Output {
  files: Files;
  format: Format;
  progress: ProgressView;
  maxWaitSeconds: number;
  /** Whether the command asks what is fixed, and has no other answer. */
  isCheck?: boolean;
}

/** Interprets the shared options. */
export function outputOf(
  command: string,
  values: FileOptions & { output?: string; json: boolean; quiet: boolean; 'max-wait': string },
  context: CliContext,
): Output {
  const format = formatOf(command, values);
  if (format !== 'text' && values.quiet)
    throw new UsageError(`${values.json ? '--json' : `-o ${format}`} and --quiet cannot be used together.`, command);
  return {
    files: givenFiles(command, values),
    format,
    progress: isData(format) || values.quiet ? noProgress() : showProgress(context.stderr),
    maxWaitSeconds: numberOf(command, 'max-wait', values['max-wait'], false)!,
  };
}

/** The same notice is repeated only after this time of waiting, so that it does not fill the log. */
const REPEAT_AFTER_SECONDS = 60;

/** Shows the client's waits as notices of the progress view. */
export function waitNote(progress: ProgressView): (why: string, seconds: number) => void {
  let last = '';
  let since = 0;
  return (why, seconds) => {
    since += seconds;
    if (why === last && since < REPEAT_AFTER_SECONDS) return;
    progress.note(
      seconds === 0 ? `${why}.` : why === last ? `${why}; still retrying.` : `${why}; retrying in ${Number(seconds.toFixed(1))} s.`,
    );
    last = why;
    since = 0;
  };
}

/** Where the reports of a scan are. */
export interface ReportSource {
  save(files: Files): Promise<void>;
  /** Reads the JSON export. Absent: there is no service to read it from. */
  read?: () => Promise<Report>;
  /** For the reasons of the verdict, if there is no report to read. */
  facts?: ScoreFacts | undefined;
  /** The address of the service. Absent: the scan has no pages there. */
  service?: string | undefined;
}

/** Saves the reports of a scan that has ended, and prints its result. @returns the exit code */
export async function reportEnd(
  result: ScanResult,
  source: ReportSource,
  output: Output,
  quiet: boolean,
  context: CliContext,
): Promise<number> {
  let problem: CliError | null = null;
  const saved: string[] = [];
  const asked = Object.values(output.files);
  if (hasResult(result)) {
    try {
      if (asked.length > 0) await source.save(output.files);
      saved.push(...asked);
    } catch (error) {
      // The verdict is still valid: print it before the error.
      if (!(error instanceof CliError)) throw error;
      problem = error;
    }
  } else if (asked.length > 0) problem = new CliError('There is no report to save, because the scan did not complete.');
  output.progress.end();
  if (!quiet) {
    const data = dataOf(result, problem === null ? output.files : {});
    await print(context.stdout, output.format, data, () => renderVerdict(result, context.stdout));
    // The rest may have to be read from the service, and the verdict does not wait for it.
    if (!isData(output.format)) await printDetails(result, source, saved, output, context);
  }
  if (problem !== null) context.stderr.write(`${printableLines(problem.message)}\n`);
  context.signal.throwIfAborted();
  const code = exitCodeOf(result, output.isCheck);
  return problem !== null && code === 0 ? 2 : code;
}

/** Prints what follows the verdict. */
async function printDetails(
  result: ScanResult,
  source: ReportSource,
  saved: readonly string[],
  output: Output,
  context: CliContext,
): Promise<void> {
  const explanation = await explanationOf(result, source, output, context);
  const { service } = source;
  const links = {
    link: dashboardLink(service, result.scan_id),
    report: result.report_url ? absolute(service, result.report_url) : undefined,
  };
  context.stdout.write(renderDetails(result, context.stdout, { saved, wide: output.format === 'wide', explanation, ...links }));
}

/** Null if there is nothing to fix, or no report. A failure, or an interrupt, changes nothing about the verdict. */
async function explanationOf(
  { status, violations_count: all, violations_new_or_open: open = all }: ScanResult,
  { read, facts }: ReportSource,
  { format, progress }: Output,
  { stdout, signal }: CliContext,
): Promise<Explanation | null> {
  if (status !== 'done') return null;
  const { explain, explainFacts } = await import('../explanation.ts');
  const withoutReport = facts === undefined ? null : explainFacts(facts);
  if (read === undefined || open === null || open === 0) return withoutReport;
  try {
    return explain(await read(), stdout, format === 'wide');
  } catch (error) {
    if (signal.aborted) return withoutReport;
    const why = error instanceof CliError ? reasonIn(error) : 'this command does not understand the JSON export';
    progress.note(`What to fix first is not shown: ${why}`);
    return withoutReport;
  }
}

/** Why something that the verdict does not need is missing. That its own short budget is used up would read as if --max-wait was. */
export const reasonIn = (error: CliError): string =>
  error instanceof ServiceUnavailable ? error.message.split('\n', 1)[0]! : error.message;

/** The result with the API's field names, and the files of the saved reports. */
function dataOf(result: ScanResult, files: Files): Record<string, unknown> {
  const { event: _event, ...rest } = result as ScanResult & { event?: string };
  return { ...rest, ...files };
}
