/** The secrets of an evaluation: kept in one Kubernetes Secret, so that API and operator know them and a new pod has the same ones. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A Secret's `data`: base64 by key. */
export type SecretData = Readonly<Record<string, string>>;

/** The file below the data folder that keeps the API key. */
export const API_KEY_FILE = 'api-key.env';

/** Each key of the Secret that is also a file below the data folder, under the name by which its part looks for it. */
const FILES: Readonly<Record<string, string>> = {
  'identity.json': 'messages/identity.json',
  's3-secret-access-key': 'objects.secret',
  'api-key.env': API_KEY_FILE,
};

const encode = (text: string): string => Buffer.from(text).toString('base64');
const decode = (base64: string): string => Buffer.from(base64, 'base64').toString();

/** Puts back what the data folder lacks. A folder that outlived its Secret is right: its documents belong to it. */
export function restoreFiles(dataDir: string, data: SecretData): void {
  for (const [key, file] of Object.entries(FILES)) {
    const path = join(dataDir, file);
    if (data[key] === undefined || existsSync(path)) continue;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, decode(data[key]), { mode: 0o600 });
  }
}

/** What the parts made at their start, beside the files. */
export interface Made {
  apiKey: string;
  signingSeed: string;
  credentialsFile: string;
}

/** The file that keeps the API key for the next start, in the form that `make run` writes. */
export function keepKey(dataDir: string, apiKey: string): void {
  writeFileSync(join(dataDir, API_KEY_FILE), `export CURBCUT_API_KEY='${apiKey}'\n`, { mode: 0o600 });
}

/**
 * What must be written into the Secret: only keys that are new or different. Credentials are made anew at every start,
 * and are as good as those before them while the identity is the same.
 */
export function changesOf(dataDir: string, made: Made, data: SecretData): Record<string, string> {
  const wanted: Record<string, string> = { 'api-key': encode(made.apiKey), 'nats-signing-seed': encode(made.signingSeed) };
  for (const [key, file] of Object.entries(FILES)) wanted[key] = encode(readFileSync(join(dataDir, file), 'utf8').trim());
  const sameIdentity = data['identity.json'] === wanted['identity.json'] && data['service.creds'] !== undefined;
  if (!sameIdentity) wanted['service.creds'] = readFileSync(made.credentialsFile).toString('base64');
  return Object.fromEntries(Object.entries(wanted).filter(([key, value]) => data[key] !== value));
}
