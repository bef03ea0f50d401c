/**
 * Reads which API server to use and how to authenticate: the service account of a pod, or a kubeconfig file with a token or
 * a client certificate. A file that asks for anything else (a credential plug-in, a proxy, impersonation) is refused: requests
 * without it would reach another server, or act as another user.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { parse, type YAMLParseError } from 'yaml';
import { errorMessage } from '../errors.ts';

/** Options of the TLS connection. A change needs a new connection. */
export type Tls = Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>;

export interface KubeConfig {
  server: string;
  namespace: string;
  token: string | null;
  tls: Tls;
}

/** The fields of a cluster or user that are read, and those that change nothing here. */
const CLUSTER_FIELDS = [
  'server',
  'certificate-authority',
  'insecure-skip-tls-verify',
  'tls-server-name',
  'extensions',
  'disable-compression',
];
const USER_FIELDS = ['client-certificate', 'client-key', 'token', 'tokenFile', 'extensions'];
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * @param path of a kubeconfig; default: the pod's service account
 * @param root replaces `/` in tests of the service account
 * @throws Error that names the file and the mistake in it, and quotes none of it
 */
export function loadKubeConfig(path: string | undefined, root = ''): KubeConfig {
  if (path) return fromFile(path);
  const folder = root + SERVICE_ACCOUNT;
  // eslint-disable-next-line no-restricted-properties -- the kubelet sets them in every pod; they are no settings
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '443' } = process.env;
  if (!host || !existsSync(folder))
    throw new Error('no Kubernetes API is configured: KUBECONFIG is not set, and there is no service account');
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    namespace: read(`${folder}/namespace`).trim(),
    token: read(`${folder}/token`).trim(),
    tls: { ca: read(`${folder}/ca.crt`) },
  };
}

type Entry = Record<string, unknown>;

function fromFile(path: string): KubeConfig {
  const file = parseFile(path);
  const find = (kind: 'context' | 'cluster' | 'user', name: unknown): Entry => {
    const list = file[`${kind}s`] as Entry[] | undefined;
    const found = list?.find((entry) => entry['name'] === name)?.[kind];
    if (!found) throw new Error(`${path}: there is no ${kind} named ${JSON.stringify(name)}`);
    return found as Entry;
  };
  if (!file['current-context']) throw new Error(`${path}: there is no current-context; choose one with \`kubectl config use-context\``);
  const context = find('context', file['current-context']);
  const cluster = find('cluster', context['cluster']);
  const user = find('user', context['user']);
  checkFields(path, `cluster ${JSON.stringify(context['cluster'])}`, cluster, CLUSTER_FIELDS);
  checkFields(path, `user ${JSON.stringify(context['user'])}`, user, USER_FIELDS);
  /** The data of a field, or else the content of its file. */
  const content = (entry: Entry, field: string): string | undefined => {
    const data = entry[`${field}-data`] as string | undefined;
    if (data) return Buffer.from(data, 'base64').toString();
    return entry[field] ? read(resolve(dirname(path), entry[field] as string)) : undefined;
  };
  // As in client-go, the file takes precedence over `token`, because only the file is renewed.
  const token = content(user, 'tokenFile') ?? (user['token'] as string | undefined);
  return {
    server: cluster['server'] as string,
    namespace: (context['namespace'] as string | undefined) ?? 'default',
    token: token?.trim() ?? null,
    tls: {
      ca: content(cluster, 'certificate-authority'),
      cert: content(user, 'client-certificate'),
      key: content(user, 'client-key'),
      servername: cluster['tls-server-name'] as string | undefined,
      rejectUnauthorized: cluster['insecure-skip-tls-verify'] ? false : undefined,
    },
  };
}

function checkFields(path: string, what: string, entry: Entry, known: readonly string[]): void {
  const unknown = Object.keys(entry).filter((field) => entry[field] !== null && !known.includes(field.replace(/-data$/, '')));
  if (unknown.length === 0) return;
  throw new Error(`${path}: the ${what} has ${unknown.join(', ')}, which is not supported; use a token or a client certificate`);
}

function parseFile(path: string): Entry {
  let file: unknown;
  try {
    file = parse(read(path));
  } catch (error) {
    const line = (error as YAMLParseError).linePos?.[0].line;
    if (line === undefined) throw error;
    // The message may quote the file, which may hold secrets.
    throw new Error(`the kubeconfig ${path} is not YAML: see line ${line}`);
  }
  if (typeof file !== 'object' || file === null || Array.isArray(file)) throw new Error(`the kubeconfig ${path} is not a mapping`);
  return file as Entry;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`the file ${path} cannot be read: ${errorMessage(error)}`, { cause: error });
  }
}
