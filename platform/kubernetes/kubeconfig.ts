/**
 * Which API server to use and how to authenticate: the service account of a pod, or a kubeconfig file. The parts of the Kubernetes
 * client that read the file and run credential plug-ins are loaded one by one. The whole client costs 85 MiB and half a second.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { RequestOptions } from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import type { Cluster, User } from '@kubernetes/client-node';
import type { OpenIDConnectAuth } from '@kubernetes/client-node/dist/oidc_auth.js';
import { newClusters, newContexts, newUsers } from '@kubernetes/client-node/dist/config_types.js';
import { ExecAuth } from '@kubernetes/client-node/dist/exec_auth.js';
import { parse, type YAMLParseError } from 'yaml';
import { errorMessage } from '../errors.ts';
import { withTimeLimit } from '../time-limits.ts';
import { hostInUrl } from '../listen.ts';

/** Options of the TLS connection. A change needs a new connection. */
export type Tls = Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>;

export interface Credential {
  token: string | null;
  tls: Tls;
}

export interface KubeConfig {
  server: string;
  namespace: string;
  /**
   * Reads tokens and certificates from their files, and runs a credential plug-in if its last credential has expired.
   * @throws Error that names the file or the plug-in that failed
   */
  authenticate(): Promise<Credential>;
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
/** A plug-in may ask a provider for a token. One that waits for a person cannot succeed here. */
const PLUGIN_MS = 20_000;
/** What would make requests reach another server or act as another user if it were ignored. */
const UNSUPPORTED = { cluster: ['proxy-url'], user: ['as', 'as-groups', 'as-uid', 'as-user-extra', 'username', 'password'] } as const;

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
    server: `https://${hostInUrl(host)}:${port}`,
    namespace: read(`${folder}/namespace`).trim(),
    authenticate: () => Promise.resolve({ token: read(`${folder}/token`).trim(), tls: { ca: read(`${folder}/ca.crt`) } }),
  };
}

type Entry = Record<string, unknown>;

function fromFile(path: string): KubeConfig {
  const { cluster, namespace } = readCurrent(path);
  let source: { user: User; apply(options: RequestOptions): Promise<void> } | undefined;
  return {
    server: cluster.server,
    namespace,
    async authenticate() {
      // Tools rotate tokens and certificates in the file itself. A plug-in keeps its credential as long as its user stays the same.
      const { cluster, user, tokenFile } = readCurrent(path);
      if (source === undefined || !isDeepStrictEqual(source.user, user)) source = { user, apply: credentialSource(path, user) };
      const options: RequestOptions & { headers: Record<string, string> } = { headers: {} };
      await source.apply(options);
      const inFile = (name: string | undefined): string | undefined => (name ? read(resolve(dirname(path), name)) : undefined);
      const content = (data: string | undefined, name: string | undefined): string | undefined =>
        data ? Buffer.from(data, 'base64').toString() : inFile(name);
      // As in client-go, the file takes precedence over `token`, because only the file is renewed.
      const token = options.headers['Authorization']?.replace('Bearer ', '') ?? inFile(tokenFile) ?? user.token;
      return {
        token: token?.trim() ?? null,
        tls: {
          ca: content(cluster.caData, cluster.caFile),
          cert: options.cert ?? content(user.certData, user.certFile),
          key: (options.key as string | undefined) ?? content(user.keyData, user.keyFile),
          servername: cluster.tlsServerName,
          rejectUnauthorized: cluster.skipTLSVerify ? false : undefined,
        },
      };
    },
  };
}

/** Reads the current context with its cluster and its user. @throws Error that names the file and the mistake in it */
function readCurrent(path: string): { cluster: Cluster; user: User; tokenFile: string | undefined; namespace: string } {
  const file = parseFile(path);
  const named = <T extends { name: string }>(kind: keyof typeof UNSUPPORTED | 'context', list: T[], name: string): T => {
    const found = list.find((entry) => entry.name === name);
    if (found === undefined) throw new Error(`${path}: there is no ${kind} named ${JSON.stringify(name)}`);
    return found;
  };
  /** Reads a list with the client's reader, which names a missing field by its place. */
  const entries = <T>(reader: (list: never) => T[], list: unknown): T[] => {
    try {
      return reader(list as never);
    } catch (error) {
      throw new Error(`${path}: ${errorMessage(error)}`, { cause: error });
    }
  };
  const current = file['current-context'] as string | undefined;
  if (!current) throw new Error(`${path}: there is no current-context; choose one with \`kubectl config use-context\``);
  const context = named('context', entries(newContexts, file['contexts']), current);
  const cluster = named('cluster', entries(newClusters, file['clusters']), context.cluster);
  const user = named('user', entries(newUsers, file['users']), context.user);
  for (const kind of ['cluster', 'user'] as const) refuseUnsupported(path, file, kind, context[kind]);
  const tokenFile = rawEntry(file, 'user', context.user)['tokenFile'] as string | undefined;
  return { cluster, user, tokenFile, namespace: context.namespace ?? 'default' };
}

/** Gets the credential of a user from its plug-in or OpenID provider, if it has one. */
function credentialSource(path: string, user: User): (options: RequestOptions) => Promise<void> {
  const what = `${path}: the credential plug-in of the user ${JSON.stringify(user.name)}`;
  if (!user.exec && !user.authProvider) return () => Promise.resolve();
  let source: Promise<ExecAuth | OpenIDConnectAuth> | undefined;
  return async (options) => {
    try {
      // Seldom used, and it loads the whole client.
      source ??= user.exec
        ? Promise.resolve(new ExecAuth())
        : import('@kubernetes/client-node/dist/oidc_auth.js').then((module) => new module.OpenIDConnectAuth());
      const provider = await source;
      if (!provider.isAuthProvider(user)) throw new Error(`${JSON.stringify(user.authProvider.name)} is not supported`);
      await withTimeLimit(provider.applyAuthentication(user, options), PLUGIN_MS, 'it');
    } catch (error) {
      throw new Error(`${what} failed: ${errorMessage(error).trim()}`, { cause: error });
    }
  };
}

function rawEntry(file: Entry, kind: 'cluster' | 'user', name: string): Entry {
  const list = file[`${kind}s`] as ({ name: string } & Record<typeof kind, Entry | null>)[];
  return list.find((entry) => entry.name === name)![kind] ?? {};
}

function refuseUnsupported(path: string, file: Entry, kind: 'cluster' | 'user', name: string): void {
  const entry = rawEntry(file, kind, name);
  const found = UNSUPPORTED[kind].filter((field) => entry[field] != null);
  if (found.length > 0) throw new Error(`${path}: the ${kind} ${JSON.stringify(name)} has ${found.join(', ')}, which is not supported`);
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
