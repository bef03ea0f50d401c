/**
 * Private authorities that the browser trusts for scanned sites. Chromium reads them from the NSS database of its user; flags that
 * ignore certificate errors would also accept expired certificates and those of other hosts.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { certificatesIn } from '../../../platform/authorities.ts';
import { errorMessage } from '../../../platform/errors.ts';
import type { Machine } from './chromium.ts';

export interface SiteTrust {
  machine: Machine;
  /** Deletes the database. */
  close(): Promise<void>;
}

/** Takes 20 ms on an idle machine. */
const CERTUTIL_MS = 20_000;

/**
 * Makes a home folder whose database has the authorities of a bundle.
 * @param bundle PEM; undefined: the browser keeps the home of the machine
 * @throws Error if certutil is not installed or fails
 */
export async function openSiteTrust(bundle: string | undefined, machine: Machine): Promise<SiteTrust> {
  if (bundle === undefined) return { machine, close: () => Promise.resolve() };
  const home = await mkdtemp(join(tmpdir(), 'curbcut-trust-'));
  const close = (): Promise<void> => rm(home, { recursive: true, force: true });
  const database = join(home, '.pki', 'nssdb');
  const certutil = (...args: string[]) =>
    promisify(execFile)('certutil', ['-d', `sql:${database}`, ...args], { env: { PATH: machine.path }, timeout: CERTUTIL_MS });
  try {
    await mkdir(database, { recursive: true });
    await certutil('-N', '--empty-password');
    for (const [at, certificate] of certificatesIn(bundle).entries()) {
      const file = join(home, 'authority.pem');
      await writeFile(file, certificate);
      // C: an authority for servers.
      await certutil('-A', '-n', `authority-${at}`, '-t', 'C,,', '-i', file);
    }
    return { machine: { ...machine, home }, close };
  } catch (error) {
    await close();
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const reason = isMissing ? 'certutil not found. Install the Debian package "libnss3-tools".' : errorMessage(error);
    throw new Error(`The browser cannot trust the private authorities of sites: ${reason}`, { cause: error });
  }
}
