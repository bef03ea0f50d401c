/** The evaluation's secrets. One Kubernetes Secret keeps them for API and operator, and for a new pod. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Type } from '../../platform/configuration.ts';
import { ANY_ADDRESS } from '../../platform/listen.ts';

/** The configuration of the evaluation. */
const name = (description: string) => Type.String({ pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$', description });
const port = (fallback: number, what: string) =>
  Type.Integer({ minimum: 1, maximum: 65535, default: fallback, description: `a port for ${what}, from 1 to 65535` });

export const Environment = Type.Object({
  HOST: Type.String({ default: ANY_ADDRESS, description: 'an address to listen on' }),
  DATA_DIR: Type.String({ minLength: 1, default: '/data', description: 'the path of a folder that may be written to' }),
  POD_NAMESPACE: name('the namespace of the Secret'),
  EVALUATION_SECRET: name('the name of a Secret that exists and that this process may read and patch'),
  CURBCUT_NAMESPACE: name('the namespace whose scans are charged to the demo organisation'),
  KUBECONFIG: Type.Optional(
    Type.String({ minLength: 1, description: "the path of a kubeconfig; absent, the pod's service account is used" }),
  ),
  DOCUMENTS_PORT: port(27017, 'documents'),
  MESSAGES_PORT: port(4222, 'messages'),
  OBJECTS_PORT: port(9000, 'objects'),
  DEMO_PORT: port(8081, 'the demo site'),
  SMTP_PORT: port(2525, 'mails'),
  INBOX_PORT: port(8025, "the mail catcher's inbox"),
  PROBE_PORT: port(8082, 'probes'),
});

/** A Secret's `data`: base64 by key. */
export type SecretData = Readonly<Record<string, string>>;

/** The file below the data folder that keeps the API key. */
export const API_KEY_FILE = 'api-key.env';

/** The file below the data folder that keeps the password of the demo user. */
export const PASSWORD_FILE = 'demo-password';

/** The keys of the Secret that are also files below the data folder. */
const FILES: Readonly<Record<string, string>> = {
  'identity.json': 'messages/identity.json',
  's3-secret-access-key': 'objects.secret',
  'api-key.env': API_KEY_FILE,
  'demo-password': PASSWORD_FILE,
};

const encode = (text: string): string => Buffer.from(text).toString('base64');
const decode = (base64: string): string => Buffer.from(base64, 'base64').toString();

/** Restores missing files. Existing files win over the Secret, because the documents in the folder belong to them. */
export function restoreFiles(dataDir: string, data: SecretData): void {
  for (const [key, file] of Object.entries(FILES)) {
    const path = join(dataDir, file);
    if (data[key] === undefined || existsSync(path)) continue;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, decode(data[key]), { mode: 0o600 });
  }
}

/** Values that the parts created at start, in addition to the files. */
export interface CreatedSecrets {
  apiKey: string;
  signingSeed: string;
  credentialsFile: string;
}

/** Saves the API key for the next start, in the format of `make run`. */
export function keepKey(dataDir: string, apiKey: string): void {
  writeFileSync(join(dataDir, API_KEY_FILE), `export CURBCUT_API_KEY='${apiKey}'\n`, { mode: 0o600 });
}

/**
 * The changes of the Secret: only new or different keys. Credentials are created at every start, but the old ones stay
 * valid while the identity is the same.
 */
export function changesOf(dataDir: string, created: CreatedSecrets, data: SecretData): Record<string, string> {
  const wanted: Record<string, string> = { 'api-key': encode(created.apiKey), 'nats-signing-seed': encode(created.signingSeed) };
  for (const [key, file] of Object.entries(FILES)) wanted[key] = encode(readFileSync(join(dataDir, file), 'utf8').trim());
  const sameIdentity = data['identity.json'] === wanted['identity.json'] && data['service.creds'] !== undefined;
  if (!sameIdentity) wanted['service.creds'] = readFileSync(created.credentialsFile).toString('base64');
  return Object.fromEntries(Object.entries(wanted).filter(([key, value]) => data[key] !== value));
}
