/** The organisation, credits, API key and user of the first steps, created with `curbcut-admin`. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadOrCreateSecret } from './secret.ts';

const CURBCUT_ADMIN = join(import.meta.dirname, '..', 'api', 'admin', 'main.ts');
const CREDITS = 10_000;
/** The owner of the organisation `demo`. */
export const DEMO_EMAIL = 'demo@example.com';
/** Short enough to be typed: 96 random bits. */
const newPassword = (): string => randomBytes(12).toString('base64url');

export interface DemoOrganisationOptions {
  /** The environment of `curbcut-admin`; MONGODB_URL is required. */
  environment: Readonly<Record<string, string | undefined>>;
  /** The file that `make run` wrote at an earlier start. Its key is kept if it is still live. */
  environmentFile: string;
  /** The file that keeps the user's password. It is created if it does not exist. */
  passwordFile: string;
  /** The Kubernetes namespace whose scans are charged to the organisation. */
  namespace: string;
  keyName: string;
}

export interface DemoOrganisation {
  key: string;
  /** Null if the user has chosen another password since. */
  password: string | null;
}

/**
 * Creates the organisation `demo`, its API key and its owner `DEMO_EMAIL` unless they exist.
 * @throws Error with the output of curbcut-admin if it fails
 */
export async function ensureDemoOrganisation(options: DemoOrganisationOptions): Promise<DemoOrganisation> {
  const password = await loadOrCreateSecret(options.passwordFile, newPassword);
  const input = `${await readKey(options.environmentFile)}\n${password}\n`;
  const output = await curbcutAdmin(options.environment, input, [
    ...['organisation', 'ensure', 'demo', '--json', '--name', 'Demo organisation', '--plan', 'evaluation'],
    ...['--namespaces', options.namespace, '--credits', String(CREDITS), '--key-name', options.keyName, '--key-stdin'],
    ...['--owner', DEMO_EMAIL],
  ]);
  const { key, owner } = JSON.parse(output) as { key: string; owner: { hasPassword: boolean } };
  return { key, password: owner.hasPassword ? password : null };
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
