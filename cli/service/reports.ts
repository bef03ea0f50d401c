/** Downloads a scan's reports. */
import { createWriteStream } from 'node:fs';
import { access, constants, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { CSV_TABLES, type CsvTable, REPORT_FORMAT_NAMES, type ReportFormat } from '../../report/schema/objects.ts';
import type { Report } from '../../report/schema/report.ts';
import { CliError, UsageError } from '../errors.ts';
import { causeOf } from './answers.ts';
import { createWatchdog, type Watchdog } from './budget.ts';
import type { Client } from './client.ts';
import { fetchTrusting } from './network.ts';

/**
 * The files that a command saves reports to. Loads neither HTTP client nor schemas. The reports by the names of their options: the two of
 * the service, and those that the command makes from the JSON export.
 */
const REPORTS = ['pdf', 'export', ...REPORT_FORMAT_NAMES] as const;
type ReportName = (typeof REPORTS)[number];

/** Files by report. A report without a file is not saved. */
export type Files = Partial<Record<ReportName, string>>;

/** The options for them. `--csv-table` chooses which of the tables `--csv` saves. */
export type FileOptions = Omit<Files, 'csv_causes' | 'csv_pages'> & { 'csv-table'?: string };

/** Picks the files from parsed arguments. @throws UsageError */
export function givenFiles(command: string, { csv, 'csv-table': table, ...values }: FileOptions): Files {
  const tables = Object.keys(CSV_TABLES) as CsvTable[];
  const chosen = tables.find((name) => name === (table ?? 'elements'));
  if (chosen === undefined) throw new UsageError(`--csv-table ${table} must be one of ${tables.join(', ')}.`, command);
  if (table !== undefined && csv === undefined) throw new UsageError('--csv-table needs --csv FILE.', command);
  const files: Files = { ...values, [CSV_TABLES[chosen]]: csv };
  return Object.fromEntries(REPORTS.flatMap((name) => (files[name] === undefined ? [] : [[name, files[name]]])));
}

/** The options that save a report to a file. */
function optionsFor(name: ReportName, file: string): string {
  const table = name.startsWith('csv_') ? ` --csv-table ${name.slice('csv_'.length)}` : '';
  return `--${name.replace(/^csv_.*/, 'csv')} ${file}${table}`;
}

/** A failed download is tried again with a new link, because the old one may have expired. */
const ATTEMPTS = 3;
const BETWEEN_ATTEMPTS_MS = 1_000;
const DOWNLOAD_TIMEOUT_MS = 300_000;
/** A download without any data for this time is tried again. */
const STALLED_MS = 30_000;

/** Checks that the files can be written, before any credits are spent. @throws CliError if not */
export async function checkFiles(files: Files): Promise<void> {
  for (const file of Object.values(files)) {
    const folder = dirname(resolve(file));
    try {
      await access(folder, constants.W_OK);
    } catch {
      throw new CliError(`${file} cannot be written: the folder ${folder} does not exist or is not writable.`);
    }
    const existing = await stat(file).catch(() => null);
    if (existing !== null && !existing.isFile()) throw new CliError(`${file} is not a file, so no report can be saved there.`);
  }
}

/** Saves the requested reports. A file is written completely or not at all. @throws CliError */
export async function saveReports(client: Client, scanId: string, { pdf, export: exported, ...formats }: Files): Promise<void> {
  if (pdf !== undefined) await save(client, scanId, 'pdf', pdf);
  if (exported !== undefined) await save(client, scanId, 'export', exported);
  const [first] = Object.entries(formats) as [ReportFormat, string][];
  if (first !== undefined) await saveFormats(client, scanId, formats, notSaved(scanId, ...first));
}

async function save(client: Client, scanId: string, kind: keyof typeof KINDS, file: string): Promise<void> {
  const why = await attempts(client, scanId, KINDS[kind], (chunks) => writeReport(file, chunks));
  if (why !== null) throw notSaved(scanId, kind, file)(why);
}

/** Writes a file completely or not at all. */
export async function writeReport(file: string, content: AsyncIterable<Uint8Array> | string | Uint8Array): Promise<void> {
  const part = `${file}.${process.pid}.part`;
  try {
    if (typeof content === 'string' || content instanceof Uint8Array) await writeFile(part, content);
    else await pipeline(content, createWriteStream(part));
    await rename(part, file);
  } finally {
    await rm(part, { force: true });
  }
}

const notSaved = (scanId: string, option: ReportName, file: string) => (why: string) =>
  new CliError(
    `The report could not be saved to ${file}: ${why}.`,
    `Get it later with: curbcut report ${scanId} ${optionsFor(option, file)}`,
  );

/** Makes the formats for other tools from the JSON export. @throws CliError */
async function saveFormats(
  client: Client,
  scanId: string,
  files: Partial<Record<ReportFormat, string>>,
  refuse: (why: string) => CliError,
): Promise<void> {
  const report = (await readExport(client, scanId)) as Report;
  // Loaded only here, because the command must start fast.
  const { formatReport } = await import('../../report/formats/formats.ts');
  const pictures = files.html === undefined ? null : await readPictures(client, scanId, report);
  for (const [format, file] of Object.entries(files) as [ReportFormat, string][]) {
    let text;
    try {
      text = formatReport(format, report, pictures);
    } catch {
      throw refuse('this command does not understand the JSON export. Check that it is not older than the service');
    }
    try {
      await writeReport(file, text);
    } catch (error) {
      throw notSaved(scanId, format, file)(causeOf(error));
    }
  }
}

/** Downloads the JSON export of a scan. @throws CliError */
export async function readExport(client: Client, scanId: string): Promise<unknown> {
  const text = await readObject(client, scanId, 'json', 'JSON export');
  try {
    return JSON.parse(text.toString());
  } catch {
    throw new CliError(`The JSON export of scan ${scanId} is not JSON.`);
  }
}

/** Null if the report has none. */
const readPictures = async (client: Client, scanId: string, { pictures, page_pictures = [] }: Report): Promise<Buffer | null> =>
  pictures.length + page_pictures.length === 0 ? null : readObject(client, scanId, 'pictures', 'object with the pictures');

/** @throws CliError */
async function readObject(client: Client, scanId: string, kind: Kind, name: string): Promise<Buffer> {
  const read: Uint8Array[] = [];
  const why = await attempts(client, scanId, kind, async (chunks) => {
    read.length = 0;
    for await (const chunk of chunks) read.push(chunk);
  });
  if (why !== null) throw new CliError(`The ${name} of scan ${scanId} could not be downloaded: ${why}.`);
  return Buffer.concat(read);
}

type Kind = Parameters<Client['reportLink']>[1];
/** The service's names of its reports. */
const KINDS = { pdf: 'pdf', export: 'json' } as const;
type Receive = (chunks: AsyncIterable<Uint8Array>) => Promise<void>;

/** Downloads a report, each time with a new link. @returns null, or why the last attempt failed */
async function attempts(client: Client, scanId: string, kind: Kind, receive: Receive): Promise<string | null> {
  const { signal, sleep } = client.options;
  for (let attempt = 1; ; attempt += 1) {
    const why = await download(client, (await client.reportLink(scanId, kind)).url, receive);
    if (why === null || attempt === ATTEMPTS || client.budget.left() === 0) return why;
    await sleep(BETWEEN_ATTEMPTS_MS, signal);
  }
}

/**
 * Downloads a presigned link. It is requested without the API key, which is for the service only, so that redirects of the
 * object store may be followed.
 * @returns null, or why the download failed
 */
async function download({ budget, options: { signal } }: Client, link: string, receive: Receive): Promise<string | null> {
  budget.start();
  const watchdog = createWatchdog(budget.limit(STALLED_MS));
  try {
    const response = await fetchTrusting(link, {
      signal: AbortSignal.any([signal, watchdog.signal, AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS)]),
    });
    if (response.ok && response.body !== null) {
      await receive(watched(response.body, budget, watchdog));
      budget.served();
      return null;
    }
    await response.body?.cancel();
    budget.count();
    return `the object store answered ${response.status}`;
  } catch (error) {
    signal.throwIfAborted();
    budget.count();
    return causeOf(error);
  } finally {
    watchdog.stop();
  }
}

async function* watched(chunks: AsyncIterable<Uint8Array>, budget: Client['budget'], watchdog: Watchdog): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    budget.served();
    budget.start();
    watchdog.touch();
    yield chunk;
  }
}
