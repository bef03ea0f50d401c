/**
 * Reads which API server to use and as whom: kubeconfig files, or the service account that a pod is given.
 *
 * By ourselves, and not with `@kubernetes/client-node`'s KubeConfig, because that class cannot be had without the whole
 * generated client: `dist/config.js` imports `gen/index.js`, and importing it costs 88 MB and 0.5 to 0.7 s, its index 87 MB
 * and 1.9 s (Node 24.21), of which undici, which we need anyway, is 29 MB and `yaml` 14 MB. Its exec plug-ins also get no
 * `KUBERNETES_EXEC_INFO`, which some refuse to run without. What it reads and this does not: the `auth-provider` forms,
 * which kubectl itself has dropped or deprecated in favour of exec plug-ins; a file that has one is refused by name.
 */
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { parse } from 'yaml';

export interface ClusterConfig {
  server: string;
  'certificate-authority'?: string;
  'certificate-authority-data'?: string;
  'insecure-skip-tls-verify'?: boolean;
  'tls-server-name'?: string;
  'proxy-url'?: string;
  extensions?: { name: string; extension: unknown }[];
}

export interface ExecConfig {
  apiVersion: string;
  command: string;
  args?: string[] | null;
  env?: { name: string; value: string }[] | null;
  provideClusterInfo?: boolean;
  interactiveMode?: string;
  installHint?: string;
}

export interface UserConfig {
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
  exec?: ExecConfig;
  'auth-provider'?: { name: string };
}

export interface Config {
  cluster: ClusterConfig;
  user: UserConfig;
  namespace: string;
}

interface Named {
  name: string;
}
type Contexts = (Named & { context: { cluster: string; user?: string; namespace?: string } })[];

interface ConfigFile {
  'current-context'?: string;
  contexts?: Contexts | null;
  clusters?: (Named & { cluster: ClusterConfig })[] | null;
  users?: (Named & { user: UserConfig | null })[] | null;
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * @param kubeconfig path, or several as `KUBECONFIG` lists them; without it the service account is taken, else `~/.kube/config`
 * @throws Error that names the file and what is wrong in it
 */
export function loadConfig(kubeconfig: string | undefined, inClusterServer = 'https://kubernetes.default.svc'): Config {
  if (kubeconfig) return fromFiles(kubeconfig.split(delimiter).filter(Boolean));
  if (existsSync(join(SERVICE_ACCOUNT, 'token'))) return fromServiceAccount(inClusterServer);
  const home = join(homedir(), '.kube', 'config');
  if (existsSync(home)) return fromFiles([home]);
  throw new Error(`no Kubernetes API is configured: KUBECONFIG is not set, this is no pod with a service account, and there is no ${home}`);
}

function fromServiceAccount(server: string): Config {
  const namespace = join(SERVICE_ACCOUNT, 'namespace');
  return {
    cluster: { server, 'certificate-authority': join(SERVICE_ACCOUNT, 'ca.crt') },
    user: { tokenFile: join(SERVICE_ACCOUNT, 'token') },
    namespace: existsSync(namespace) ? readFileSync(namespace, 'utf8').trim() : 'default',
  };
}

/** Where several files name the same thing the first one counts, as it does for kubectl. */
function fromFiles(paths: string[]): Config {
  const files = paths.filter((path) => paths.length === 1 || existsSync(path)).map(readFile);
  const where = paths.join(', ');
  const current = files.find((file) => file['current-context'])?.['current-context'];
  if (!current) throw new Error(`${where}: there is no current-context; choose one with \`kubectl config use-context\``);
  const find = <T extends Named>(kind: string, name: string, lists: (T[] | null | undefined)[]): T => {
    const found = lists.flatMap((list) => list ?? []).find((entry) => entry.name === name);
    if (!found) throw new Error(`${where}: there is no ${kind} named ${JSON.stringify(name)}`);
    return found;
  };
  const { context } = find(
    'context',
    current,
    files.map((file) => file.contexts),
  );
  const { cluster } = find(
    'cluster',
    context.cluster,
    files.map((file) => file.clusters),
  );
  if (!cluster?.server) throw new Error(`${where}: the cluster ${JSON.stringify(context.cluster)} has no server`);
  const user = context.user
    ? find(
        'user',
        context.user,
        files.map((file) => file.users),
      ).user
    : null;
  if (user?.['auth-provider']) {
    throw new Error(
      `${where}: the user ${JSON.stringify(context.user)} signs in by auth-provider ${JSON.stringify(user['auth-provider'].name)}, which is not supported; use an exec plug-in (for OpenID Connect: kubelogin)`,
    );
  }
  return { cluster, user: user ?? {}, namespace: context.namespace || 'default' };
}

function readFile(path: string): ConfigFile {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`the kubeconfig ${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  let file: ConfigFile | null;
  try {
    file = parse(text) as ConfigFile | null;
  } catch (error) {
    throw new Error(`the kubeconfig ${path} is not YAML: ${(error as Error).message}`, { cause: error });
  }
  if (typeof file !== 'object' || file === null || Array.isArray(file)) throw new Error(`the kubeconfig ${path} holds no configuration`);
  const folder = dirname(resolve(path));
  for (const { cluster } of file.clusters ?? []) if (cluster) absolute(cluster, ['certificate-authority'], folder);
  for (const { user } of file.users ?? []) {
    if (!user) continue;
    absolute(user, ['client-certificate', 'client-key', 'tokenFile'], folder);
    // As kubectl does: a bare name is looked up in PATH, anything with a slash is beside the file.
    if (user.exec?.command.includes('/')) absolute(user.exec, ['command'], folder);
  }
  return file;
}

function absolute<K extends string>(holder: { [key in K]?: string }, keys: K[], folder: string) {
  for (const key of keys) if (holder[key]) holder[key] = resolve(folder, holder[key]);
}
