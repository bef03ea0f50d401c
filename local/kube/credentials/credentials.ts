/** The credentials of clients: certificate, token, and the kubeconfig with both. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeCertificate } from './certificate.ts';

export interface Credentials {
  key: string;
  certificate: string;
  token: string;
}

/** Loads or creates credentials. If there is a folder, they are kept, so that a kubeconfig stays valid after a restart. */
export function loadCredentials(folder: string | undefined, hosts: readonly string[], now: Date): Credentials {
  const path = folder === undefined ? undefined : join(folder, 'credentials.json');
  if (path !== undefined && existsSync(path)) {
    const kept = JSON.parse(readFileSync(path, 'utf8')) as Credentials & { hosts: string[] };
    if (hosts.every((host) => kept.hosts.includes(host))) return kept;
  }
  const made = { ...makeCertificate(hosts, now), token: randomBytes(24).toString('base64url') };
  if (path !== undefined) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, JSON.stringify({ ...made, hosts }), { mode: 0o600 });
  }
  return made;
}

/** A kubeconfig in JSON, which is also YAML. */
export function kubeconfigOf(url: string, { certificate, token }: Credentials, namespace: string): string {
  const name = 'curbcut-local';
  return `${JSON.stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name, cluster: { server: url, 'certificate-authority-data': Buffer.from(certificate).toString('base64') } }],
      users: [{ name, user: { token } }],
      contexts: [{ name, context: { cluster: name, user: name, namespace } }],
      'current-context': name,
    },
    null,
    2,
  )}\n`;
}
