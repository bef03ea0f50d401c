/** Saves a scan's reports to files. */
import { createWriteStream } from 'node:fs';
import { access, constants, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { causeOf, type Client } from './client.ts';
import { CliError } from './errors.ts';

/** Files to save the reports to. An absent report is not saved. */
export interface Files {
  pdf?: string;
  export?: string;
}

/** A failed download is tried again with a new link, because the old one may have expired. */
const ATTEMPTS = 3;
const BETWEEN_ATTEMPTS_MS = 1_000;
const DOWNLOAD_TIMEOUT_MS = 300_000;

/** Checks that the files can be written, before any credits are spent. @throws CliError if not */
export async function checkFiles(files: Files): Promise<void> {
  for (const file of [files.pdf, files.export]) {
    if (file === undefined) continue;
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

/** Downloads the requested reports. A file is written completely or not at all. @throws CliError */
export async function saveReports(client: Client, scanId: string, files: Files): Promise<void> {
  if (files.pdf !== undefined) await save(client, scanId, 'pdf', files.pdf);
  if (files.export !== undefined) await save(client, scanId, 'json', files.export);
}

async function save(client: Client, scanId: string, kind: 'pdf' | 'json', file: string): Promise<void> {
  const { signal, sleep } = client.options;
  const part = `${file}.${process.pid}.part`;
  for (let attempt = 1; ; attempt += 1) {
    const link = await client.reportLink(scanId, kind);
    let why: string;
    try {
      // The link is presigned. Send the API key to the service only, never to the object store.
      const response = await fetch(link, { signal: AbortSignal.any([signal, AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS)]) });
      if (response.ok && response.body !== null) {
        await pipeline(Readable.fromWeb(response.body as ReadableStream), createWriteStream(part));
        await rename(part, file);
        return;
      }
      await response.body?.cancel();
      why = `the object store answered ${response.status}`;
    } catch (error) {
      signal.throwIfAborted();
      why = causeOf(error);
    } finally {
      await rm(part, { force: true });
    }
    if (attempt === ATTEMPTS)
      throw new CliError(
        `The report could not be saved to ${file}: ${why}.`,
        `Get it later with: curbcut follow ${scanId} --${kind === 'pdf' ? 'pdf' : 'export'} ${file}`,
      );
    await sleep(BETWEEN_ATTEMPTS_MS, signal);
  }
}
