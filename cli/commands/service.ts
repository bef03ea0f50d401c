/** The connection to the service, for the commands that speak REST. */
import { readFile } from 'node:fs/promises';
import type { Report } from '../../report/schema/report.ts';
import { isTerminal } from '../../core/scan/phases.ts';
import { readEnvironment } from '../config.ts';
import { CliError } from '../errors.ts';
import { createClient, type Client } from '../service/client.ts';
import { followScan, type Step } from '../service/follow.ts';
import type { ScanResult } from '../service/messages.ts';
import { type Files, readExport, saveReports } from '../service/reports.ts';
import { isData } from './format.ts';
import {
  reasonIn,
  reportEnd,
  scanContinues,
  waitNote,
  type CliContext,
  type InterruptHint,
  type Output,
  type ReportSource,
} from './output.ts';

/** Connects to the service that the environment names. @throws CliError that names every variable to set */
export function connect(context: CliContext, { maxWaitSeconds, progress }: Pick<Output, 'maxWaitSeconds' | 'progress'>): Client {
  const { CURBCUT_URL: baseUrl, CURBCUT_API_KEY: apiKey } = readEnvironment(context.environment);
  return createClient({ ...context, baseUrl, apiKey, maxWaitSeconds, onWait: waitNote(progress) });
}

/** Follows a scan, saves its reports and prints its result. @returns the exit code */
export async function followAndReport(
  client: Client,
  scanId: string,
  output: Output,
  quiet: boolean,
  context: CliContext,
  hint: InterruptHint,
): Promise<number> {
  const { progress } = output;
  let waitsFor: string | null = null;
  scanContinues(hint, scanId);
  const onStep = (step: Step): void => {
    progress.step(step);
    if (step.message && step.message !== waitsFor) progress.note(step.message);
    scanContinues(hint, scanId, (waitsFor = step.message ?? null));
  };
  try {
    const ended = await followScan(client, scanId, { onStep });
    // Programs read the whole object, and people the verdict.
    const result =
      quiet && !output.isCheck ? ended : await completeResult(isData(output.format) ? client : impatient(client), ended, output);
    return await reportEnd(result, reportsOf(client, scanId, output.files), output, quiet, context);
  } finally {
    progress.end();
  }
}

/** The time without service after which a command that knows the verdict goes on without what only explains it. In seconds. */
const EXPLANATION_MAX_WAIT = 10;

/** The client with a budget of its own, for what the verdict does not need. */
const impatient = ({ options }: Client): Client =>
  createClient({ ...options, maxWaitSeconds: Math.min(options.maxWaitSeconds, EXPLANATION_MAX_WAIT) });

/** The reports of a scan of the service. An export that was saved is not downloaded again. */
export const reportsOf = (client: Client, scanId: string, { export: saved }: Files): ReportSource => ({
  save: (files) => saveReports(client, scanId, files),
  read: async () =>
    (saved === undefined ? await readExport(impatient(client), scanId) : JSON.parse(await readFile(saved, 'utf8'))) as Report,
  service: client.options.baseUrl,
});

/** The whole scan object: the last event of a stream has only the numbers and the verdict. */
async function completeResult(client: Client, ended: ScanResult, { progress }: Output): Promise<ScanResult> {
  if (ended.url !== undefined) return ended;
  try {
    const { result } = await client.poll(ended.scan_id);
    return isTerminal(result.status) ? result : ended;
  } catch (error) {
    // The verdict is known: a service that fails now must not change it.
    if (!(error instanceof CliError)) throw error;
    progress.note(`The comparison and the links of the scan are not known: ${reasonIn(error)}`);
    return ended;
  }
}
