/** The report that a command is about: a JSON export, or that of a scan of the service. */
import { access, readFile } from 'node:fs/promises';
import type { Report } from '../report/schema/report.ts';
import type { CliContext, Output } from './commands/output.ts';
import { connect } from './commands/service.ts';
import { CliError, errorMessage } from './errors.ts';
import { readExport } from './service/reports.ts';
import { isReference, isScanId, resolveReference } from './service/scan-reference.ts';

export type Waiting = Pick<Output, 'maxWaitSeconds' | 'progress'>;

/** A report, and the address of the service that it was read from; undefined: a file. */
export interface Source {
  report: Report;
  service?: string;
}

/** IDs, their beginnings and `latest` are scans of the service, if there is no such file; anything else is a file. @throws CliError */
export async function readSource(source: string, context: CliContext, waiting: Waiting): Promise<Source> {
  if (isScanId(source) || (isReference(source) && !(await exists(source)))) {
    const client = connect(context, waiting);
    const report = (await readExport(client, await resolveReference(client, source, waiting.progress.note))) as Report;
    return { report, service: client.options.baseUrl };
  }
  try {
    return { report: JSON.parse(await readFile(source, 'utf8')) as Report };
  } catch (error) {
    throw new CliError(`The JSON export ${source} cannot be read: ${errorMessage(error)}.`, 'Save one with curbcut scan --export FILE.');
  }
}

const exists = (file: string): Promise<boolean> => access(file).then(() => true, () => false); // prettier-ignore

/** Runs a function of a report. @throws CliError if it fails because the report is none, or of another version */
export function understood<T>(source: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(
      `This command does not understand ${source}: it is not the JSON export of a scan, or of another version.`,
      'Save one with curbcut scan --export FILE.',
    );
  }
}
