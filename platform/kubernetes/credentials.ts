/**
 * What each request to the Kubernetes API proves its sender with, kept fresh: tokens and certificates from files that
 * rotate are read again, and exec plug-ins are run again when what they gave expires or is refused.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { promisify } from 'node:util';
import type { ClusterConfig, Config, ExecConfig } from './config.ts';

/** PEM texts for the TLS connection; a change of them needs a new one. */
export interface Tls {
  ca?: string;
  cert?: string;
  key?: string;
}

export interface Credentials {
  current(): Promise<{ headers: Record<string, string | string[]>; tls: Tls }>;
  /** What was given last was refused: the next `current` must not come from memory. */
  renew(): void;
}

interface ExecCredential {
  status?: { token?: string; clientCertificateData?: string; clientKeyData?: string; expirationTimestamp?: string };
}

/** A projected token is renewed by the kubelet at 80% of its life; client-go reads it again once a minute too. */
const REREAD_MS = 60_000;
/** A token that ends within this is not worth sending. */
const EXPIRY_MARGIN_MS = 10_000;

/** @param now milliseconds since the epoch */
export function createCredentials(config: Config, now: () => number = Date.now): Credentials {
  const { cluster, user } = config;
  const files = new Map<string, { text: Promise<string>; at: number }>();
  let plugin: { credential: Promise<ExecCredential>; expires: number } | null = null;

  function text(path: string): Promise<string> {
    const known = files.get(path);
    if (known && now() - known.at < REREAD_MS) return known.text;
    const fresh = readFile(path, 'utf8').catch((error: Error) => {
      files.delete(path);
      throw new Error(`the credential file ${path} cannot be read: ${error.message}`, { cause: error });
    });
    files.set(path, { text: fresh, at: now() });
    return fresh;
  }

  async function pem(data: string | undefined, path: string | undefined): Promise<string | undefined> {
    if (data) return Buffer.from(data, 'base64').toString();
    return path ? text(path) : undefined;
  }

  /** One run at a time, and none while the last result is good. */
  function fromPlugin(exec: ExecConfig): Promise<ExecCredential> {
    if (plugin && now() < plugin.expires) return plugin.credential;
    const entry = { credential: runPlugin(exec, cluster), expires: Infinity };
    plugin = entry;
    entry.credential.then(
      ({ status }) => {
        if (status?.expirationTimestamp) entry.expires = Date.parse(status.expirationTimestamp) - EXPIRY_MARGIN_MS;
      },
      () => {
        if (plugin === entry) plugin = null;
      },
    );
    return entry.credential;
  }

  return {
    async current() {
      const ca = await pem(cluster['certificate-authority-data'], cluster['certificate-authority']);
      const status = user.exec ? (await fromPlugin(user.exec)).status : undefined;
      const cert = status?.clientCertificateData ?? (await pem(user['client-certificate-data'], user['client-certificate']));
      const key = status?.clientKeyData ?? (await pem(user['client-key-data'], user['client-key']));
      // A file wins over a token beside it, as for client-go: the file is the one that is kept fresh.
      const token = user.tokenFile ? (await text(user.tokenFile)).trim() : (user.token ?? status?.token);
      const headers: Record<string, string | string[]> = {};
      if (token) headers['authorization'] = `Bearer ${token}`;
      else if (user.username)
        headers['authorization'] = `Basic ${Buffer.from(`${user.username}:${user.password ?? ''}`).toString('base64')}`;
      if (user.as) headers['impersonate-user'] = user.as;
      if (user['as-uid']) headers['impersonate-uid'] = user['as-uid'];
      if (user['as-groups']?.length) headers['impersonate-group'] = user['as-groups'];
      return { headers, tls: { ca, cert, key } };
    },
    renew() {
      files.clear();
      plugin = null;
    },
  };
}

/** client.authentication.k8s.io: the plug-in is told the cluster if it asks, and prints an ExecCredential. */
async function runPlugin(exec: ExecConfig, cluster: ClusterConfig): Promise<ExecCredential> {
  if (exec.interactiveMode === 'Always') {
    throw new Error(`the credential plug-in ${exec.command} needs a terminal (interactiveMode: Always), and there is none here`);
  }
  const info = {
    apiVersion: exec.apiVersion,
    kind: 'ExecCredential',
    spec: { interactive: false, ...(exec.provideClusterInfo && { cluster: clusterInfo(cluster) }) },
  };
  const added = Object.fromEntries((exec.env ?? []).map(({ name, value }) => [name, value]));
  // eslint-disable-next-line no-restricted-properties -- the plug-in inherits our environment; nothing of ours is read from it
  const env = { ...process.env, ...added, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
  try {
    const { stdout } = await promisify(execFile)(exec.command, exec.args ?? [], { env, timeout: 60_000, maxBuffer: 1 << 20 });
    return JSON.parse(stdout) as ExecCredential;
  } catch (error) {
    const { stderr, message, code } = error as { stderr?: string; message: string; code?: string };
    const hint = code === 'ENOENT' && exec.installHint ? ` (${exec.installHint.trim()})` : '';
    // What the plug-in printed to stdout may be a secret and is not repeated.
    const why = error instanceof SyntaxError ? 'it did not print JSON' : stderr?.trim() || message;
    throw new Error(`the credential plug-in ${exec.command} failed: ${why}${hint}`);
  }
}

function clusterInfo(cluster: ClusterConfig): object {
  return {
    server: cluster.server,
    'tls-server-name': cluster['tls-server-name'],
    'insecure-skip-tls-verify': cluster['insecure-skip-tls-verify'],
    'certificate-authority-data': cluster['certificate-authority-data'],
    'proxy-url': cluster['proxy-url'],
    config: cluster.extensions?.find(({ name }) => name === 'client.authentication.k8s.io/exec')?.extension,
  };
}
