/**
 * Reads which API server to use and as which user: kubeconfig files, or the service account of a pod.
 *
 * `KubeConfig` of `@kubernetes/client-node` loads the configuration and authenticates. It differs from kubectl in the
 * points that `prepareUser` and `prepareCluster` name, so it receives only the current context, in a form that it
 * understands. Import this file dynamically, because it loads the whole package (cost: docs/dependencies.md).
 */
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { KubeConfig, loadYaml } from '@kubernetes/client-node';
import { errorMessage } from '../errors.ts';

export interface ClusterEntry {
  server: string;
  'certificate-authority'?: string;
  'certificate-authority-data'?: string;
  'insecure-skip-tls-verify'?: boolean;
  'tls-server-name'?: string;
  'proxy-url'?: string;
  extensions?: { name: string; extension: unknown }[];
}

export interface ExecEntry {
  apiVersion: string;
  command: string;
  args?: string[] | null;
  env?: { name: string; value: string }[] | null;
  provideClusterInfo?: boolean;
  interactiveMode?: string;
  installHint?: string;
}

export interface UserEntry {
  'client-certificate'?: string;
  'client-certificate-data'?: string;
  'client-key'?: string;
  'client-key-data'?: string;
  token?: string;
  tokenFile?: string;
  username?: string;
  password?: string;
  as?: string;
  'as-uid'?: string;
  'as-groups'?: string[];
  exec?: ExecEntry;
  'auth-provider'?: { name: string; config?: Record<string, string> };
}

/** A configuration with one context. */
export interface LoadedConfig {
  kubeConfig: KubeConfig;
  server: string;
  proxyUrl?: string;
  namespace: string;
  /** Headers of each request, in addition to those of `kubeConfig`. */
  headers: Record<string, string | string[]>;
  /** The credential plug-in, if the user has one. */
  exec?: ExecEntry;
}

interface Named {
  name: string;
}
type Context = Named & { context: { cluster: string; user?: string; namespace?: string } };

interface KubeconfigFile {
  'current-context'?: string;
  contexts?: Context[] | null;
  clusters?: (Named & { cluster: ClusterEntry })[] | null;
  users?: (Named & { user: UserEntry | null })[] | null;
}

const SERVICE_ACCOUNT_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';
/** The `auth-provider` forms that KubeConfig knows. It would ignore any other, and send requests without credentials. */
const AUTH_PROVIDERS = ['azure', 'gcp', 'oidc'];

/**
 * @param kubeconfig one path, or several separated as in `KUBECONFIG`; default: the pod's service account, else `~/.kube/config`
 * @param root replaces `/` in tests of the service account
 * @throws Error that names the file and the mistake in it
 */
export function loadKubeConfig(kubeconfig: string | undefined, root = ''): LoadedConfig {
  if (kubeconfig) return fromFiles(kubeconfig.split(delimiter).filter(Boolean));
  if (existsSync(root + SERVICE_ACCOUNT_TOKEN)) return fromServiceAccount(root);
  const home = join(homedir(), '.kube', 'config');
  if (existsSync(home)) return fromFiles([home]);
  throw new Error(`no Kubernetes API is configured: KUBECONFIG is not set, there is no service account, and ${home} does not exist`);
}

function fromServiceAccount(root: string): LoadedConfig {
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromCluster(root);
  const [context] = kubeConfig.contexts;
  return {
    kubeConfig,
    server: kubeConfig.clusters[0]!.server,
    namespace: context?.namespace?.trim() || 'default',
    headers: {},
  };
}

/** If several files define the same name, the first one counts, as for kubectl. KubeConfig's own merge throws. */
function fromFiles(paths: string[]): LoadedConfig {
  const files = paths.filter((path) => paths.length === 1 || existsSync(path)).map(readFile);
  const where = paths.join(', ');
  const current = files.find((file) => file['current-context'])?.['current-context'];
  if (!current) throw new Error(`${where}: there is no current-context; choose one with \`kubectl config use-context\``);
  const find = <T extends Named>(kind: string, name: string, lists: (T[] | null | undefined)[]): T => {
    const found = lists.flatMap((list) => list ?? []).find((entry) => entry.name === name);
    if (!found) throw new Error(`${where}: there is no ${kind} named ${JSON.stringify(name)}`);
    return found;
  };
  const contexts = files.map((file) => file.contexts);
  const clusters = files.map((file) => file.clusters);
  const users = files.map((file) => file.users);
  const { context } = find('context', current, contexts);
  const { cluster } = find('cluster', context.cluster, clusters);
  if (!cluster?.server) throw new Error(`${where}: the cluster ${JSON.stringify(context.cluster)} has no server`);
  const user = context.user ? find('user', context.user, users).user : null;
  const provider = user?.['auth-provider']?.name;
  if (provider && !AUTH_PROVIDERS.includes(provider)) {
    throw new Error(
      `${where}: the user ${JSON.stringify(context.user)} has the auth-provider ${JSON.stringify(provider)}, which is not supported; use a credential plug-in (exec)`,
    );
  }
  return toLoadedConfig(cluster, user ?? {}, context.namespace || 'default');
}

/** Exported for tests of credentials, which need no file. */
export function toLoadedConfig(cluster: ClusterEntry, user: UserEntry, namespace = 'default'): LoadedConfig {
  const kubeConfig = new KubeConfig();
  const config = {
    'current-context': 'current',
    contexts: [{ name: 'current', context: { cluster: 'current', user: 'current', namespace } }],
    clusters: [{ name: 'current', cluster: prepareCluster(cluster) }],
    users: [{ name: 'current', user: prepareUser(user, cluster) }],
  };
  kubeConfig.loadFromString(JSON.stringify(config));
  const headers: LoadedConfig['headers'] = {};
  // KubeConfig sends only `as`.
  if (user['as-uid']) headers['impersonate-uid'] = user['as-uid'];
  if (user['as-groups']?.length) headers['impersonate-group'] = user['as-groups'];
  return { kubeConfig, server: cluster.server, proxyUrl: cluster['proxy-url'], namespace, headers, exec: user.exec };
}

function prepareCluster(cluster: ClusterEntry): ClusterEntry {
  const prepared = withoutShadowed(cluster, ['certificate-authority']);
  // KubeConfig refuses a server without TLS (`kubectl proxy`) unless the certificate is not to be verified.
  return cluster.server.startsWith('http:') ? { ...prepared, 'insecure-skip-tls-verify': true } : prepared;
}

function prepareUser(user: UserEntry, cluster: ClusterEntry): object {
  const { tokenFile, exec, ...rest } = withoutShadowed(user, ['client-certificate', 'client-key']);
  const prepared = { ...rest, ...(rest.username && { password: rest.password ?? '' }) };
  // KubeConfig ignores `tokenFile` in a kubeconfig, but reads token files in this form. As in client-go, the file takes
  // precedence over `token`, because only the file is renewed.
  if (tokenFile) return { ...prepared, token: undefined, 'auth-provider': { name: 'tokenFile', config: { tokenFile } } };
  if (!exec) return prepared;
  // Some plug-ins refuse to run without this variable, and KubeConfig does not set it.
  const info = { name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(execInfo(exec, cluster)) };
  return { ...prepared, exec: { ...exec, env: [...(exec.env ?? []), info] } };
}

/** Removes file paths beside inline data. If both are set, kubectl uses the data, but KubeConfig uses the file. */
function withoutShadowed<T extends object>(entry: T, fields: (keyof T & string)[]): T {
  const shadowed = fields.filter((field) => (entry as Record<string, unknown>)[`${field}-data`]);
  return Object.fromEntries(Object.entries(entry).filter(([key]) => !(shadowed as string[]).includes(key))) as T;
}

/** The ExecCredential (client.authentication.k8s.io) that a plug-in receives. */
function execInfo(exec: ExecEntry, cluster: ClusterEntry): object {
  const { extensions, 'certificate-authority': _, ...rest } = cluster;
  const config = extensions?.find(({ name }) => name === 'client.authentication.k8s.io/exec')?.extension;
  return {
    apiVersion: exec.apiVersion,
    kind: 'ExecCredential',
    spec: { interactive: false, ...(exec.provideClusterInfo && { cluster: { ...rest, config } }) },
  };
}

function readFile(path: string): KubeconfigFile {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`the kubeconfig ${path} cannot be read: ${errorMessage(error)}`, { cause: error });
  }
  if (text.trim() === '') throw new Error(`the kubeconfig ${path} is empty`);
  let file: KubeconfigFile;
  try {
    file = loadYaml<KubeconfigFile>(text);
  } catch (error) {
    // The lines after the first quote the file, which may hold secrets.
    throw new Error(`the kubeconfig ${path} is not YAML: ${errorMessage(error).split('\n')[0]}`);
  }
  if (typeof file !== 'object' || Array.isArray(file)) throw new Error(`the kubeconfig ${path} is not a mapping`);
  const folder = dirname(resolve(path));
  for (const { cluster } of file.clusters ?? []) if (cluster) makeAbsolute(cluster, ['certificate-authority'], folder);
  for (const { user } of file.users ?? []) {
    if (!user) continue;
    makeAbsolute(user, ['client-certificate', 'client-key', 'tokenFile'], folder);
    // As for kubectl: a bare name is searched in PATH, a path is relative to the file.
    if (user.exec?.command.includes('/')) makeAbsolute(user.exec, ['command'], folder);
  }
  return file;
}

function makeAbsolute<K extends string>(entry: { [key in K]?: string }, fields: K[], folder: string) {
  for (const field of fields) if (entry[field]) entry[field] = resolve(folder, entry[field]);
}
