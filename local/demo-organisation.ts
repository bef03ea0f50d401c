/** The organisation, credits and API key that a first scan needs, created with `curbcut-admin`. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const CURBCUT_ADMIN = join(import.meta.dirname, '..', 'api', 'admin', 'main.ts');
const CREDITS = 10_000;

export interface DemoOrganisationOptions {
  /** The environment of `curbcut-admin`; MONGODB_URL is required. */
  environment: Readonly<Record<string, string | undefined>>;
  /** The file that `make run` wrote at an earlier start. Its key is kept if it is still live. */
  environmentFile: string;
  /** The Kubernetes namespace whose scans are charged to the organisation. */
  namespace: string;
  keyName: string;
}

/**
 * Creates the organisation `demo` unless it exists.
 * @returns its API key
 * @throws Error with the output of curbcut-admin if it fails
 */
export async function ensureDemoOrganisation(options: DemoOrganisationOptions): Promise<string> {
  const output = await curbcutAdmin(options.environment, await readKey(options.environmentFile), [
    ...['organisation', 'ensure', 'demo', '--json', '--name', 'Demo organisation', '--plan', 'evaluation'],
    ...['--namespaces', options.namespace, '--credits', String(CREDITS), '--key-name', options.keyName, '--key-stdin'],
  ]);
  return (JSON.parse(output) as { key: string }).key;
}

function curbcutAdmin(environment: DemoOrganisationOptions['environment'], input: string, args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(process.execPath, [CURBCUT_ADMIN, ...args], { env: environment }, (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(stderr.trim() || `curbcut-admin failed: ${error.message}`)),
    );
    child.stdin!.on('error', () => undefined); // The process may end before it reads its input.
    child.stdin!.end(input);
  });
}

async function readKey(environmentFile: string): Promise<string> {
  const text = await readFile(environmentFile, 'utf8').catch(() => '');
  return /^export CURBCUT_API_KEY='?(svc_live_[0-9A-Za-z]+)'?$/m.exec(text)?.[1] ?? '';
}
