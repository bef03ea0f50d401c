/** The connection to the service, for the commands that speak REST. */
import { readFile } from 'node:fs/promises';
import type { Report } from '../../report/schema/schema.ts';
import { isTerminal } from '../../core/scan/phases.ts';
import { readEnvironment } from '../config.ts';
import { CliError } from '../errors.ts';
import { createClient, type Client } from '../service/client.ts';
import { resolveReference } from '../service/scan-reference.ts';
import { followScan } from '../service/follow.ts';
import type { ScanResult } from '../service/messages.ts';
import type { Files } from '../service/files.ts';
import { readExport, saveReports } from '../service/reports.ts';
import { isData } from './format.ts';
import { reasonIn, reportEnd, waitNote, type CliContext, type Output, type ReportSource } from './output.ts';

/** What `kubectl curbcut` needs the service for, and how to reach it without a public address. */
const WHY_SERVICE = [
  "Reports, differences and positions come from Curbcut's API, not from Kubernetes. If it has no public address, forward a port, for example:",
  '  kubectl -n curbcut port-forward service/curbcut 8080:80',
  '  export CURBCUT_URL=http://127.0.0.1:8080',
];

/** Connects to the service that the environment names. @throws CliError that names every variable to set */
export function connect(context: CliContext, { maxWaitSeconds, progress }: Pick<Output, 'maxWaitSeconds' | 'progress'>): Client {
  const { CURBCUT_URL: baseUrl, CURBCUT_API_KEY: apiKey } = readEnvironment(
    context.environment,
    context.program === 'curbcut' ? [] : WHY_SERVICE,
  );
  return createClient({ ...context, baseUrl, apiKey, maxWaitSeconds, onWait: waitNote(progress) });
}

/**
 * Resolves what the user wrote to the ID of a scan: `latest` or the beginning of an ID, and for `kubectl curbcut` the name of a resource.
 * @throws CliError if there is no such scan
 */
export async function scanIdOf(
  name: string,
  client: Client,
  context: CliContext,
  output: Pick<Output, 'maxWaitSeconds' | 'progress'>,
): Promise<string> {
  if (context.program === 'curbcut') return resolveReference(client, name, output.progress.note);
  const { connectKubectl } = await import('../kubectl/connect.ts');
  const { resolveScan, scanName } = await import('../kubectl/scans.ts');
  return resolveScan(connectKubectl(context, output), scanName(name));
}

/** Follows a scan, saves its reports and prints its result. @returns the exit code */
export async function followAndReport(
  client: Client,
  scanId: string,
  output: Output,
  quiet: boolean,
  context: CliContext,
): Promise<number> {
  const { progress } = output;
  try {
    const ended = await followScan(client, scanId, { onStep: (step) => progress.step(step) });
    // Programs read the whole object, and people the verdict.
    const result = quiet ? ended : await completeResult(isData(output.format) ? client : impatient(client), ended, output);
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
