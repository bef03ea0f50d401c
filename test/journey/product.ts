/** Runs the whole product for a test: API and operator as processes, the demo site, and the embedded stack or the cluster of KUBECONFIG. */
import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { hostInUrl } from '../../platform/listen.ts';
import { ensureDemoOrganisation } from '../../local/demo-organisation.ts';
import { startDemoSite } from '../../demo-site/server.ts';
import { startProduct, type Product } from '../../local/product.ts';
import { CRDS, startStack } from '../../local/stack.ts';
import { connectMongo } from '../../stores/mongo.ts';
import { openStores } from '../../stores/stores.ts';
import { openDatabaseServer } from '../support/databases.ts';
import { issueKey } from '../support/issue-key.ts';
import { DEFAULT_NAMESPACE } from '../../core/protocol/custom-resources.ts';

const ROOT = join(import.meta.dirname, '..', '..');
export const CURBCUT = join(ROOT, 'cli', 'main.ts');
const run = promisify(execFile);

/** Whether the tests run on the cluster of KUBECONFIG, with real pods of the built image. */
export const ON_CLUSTER = Boolean(process.env.KUBECONFIG);

export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

export interface WholeProduct {
  url: string;
  demoUrl: string;
  dir: string;
  namespace: string;
  /** The address of this machine as pods reach it. */
  host: string;
  processes: Product;
  /** The environment of the processes. A change applies when a process starts again. */
  environment: Record<string, string | undefined>;
  /** The address of the mail catcher's inbox. */
  inboxUrl: string | null;
  /** The password of the user DEMO_EMAIL. */
  password: string;
  /** Issues a new API key for the following requests, because each key has its own rate limit. */
  changeKey(): Promise<void>;
  /** The address and the API key, as programs read them from the environment. */
  credentials(): { CURBCUT_URL: string; CURBCUT_API_KEY: string };
  /** Sends a request with the API key. */
  request(path: string, init?: RequestInit): Promise<Response>;
  curbcut(...args: string[]): Promise<CommandResult>;
  /** Returns every secret that the product was given or has issued. */
  secrets(): Promise<string[]>;
  /** Runs kubectl in the product's namespace. @returns its output @throws with its stderr if it fails */
  kubectl(args: string[], input?: string): Promise<string>;
  close(): Promise<void>;
}

/** Starts everything. On a cluster it creates a namespace, which `close` removes. */
export async function startWholeProduct(extra: Record<string, string> = {}, loopback = '127.0.0.1'): Promise<WholeProduct> {
  const dir = await mkdtemp(join(tmpdir(), 'curbcut-journey-'));
  const host = (ON_CLUSTER && process.env.CURBCUT_CLUSTER_HOST_IP) || loopback;
  // A new name each time, because an earlier namespace may still be terminating.
  const namespace = ON_CLUSTER ? `curbcut-${randomUUID().slice(0, 8)}` : DEFAULT_NAMESPACE;
  const logger = pino({ level: 'warn' }, pino.destination({ dest: join(dir, 'local.log'), sync: true }));
  // A database of its own, which is dropped at the end.
  const databases = process.env.MONGODB_URL ? await openDatabaseServer() : null;
  const given = { ...process.env, ...(databases && { MONGODB_URL: databases.newDatabase() }) };
  const stack = await startStack({ dataDir: dir, environment: { ...given, ...extra }, host, logger });
  const demo = await startDemoSite({ host });
  const environment: Record<string, string | undefined> = {
    ...given,
    ALLOW_TARGETS: host,
    SCANNER_IMAGE: process.env.SCANNER_IMAGE ?? 'curbcut.dev/scanner:dev',
    CURBCUT_NAMESPACE: namespace,
    // On the cluster the demo site is not on loopback.
    TEST_TARGETS: hostInUrl(host),
    HOST: ON_CLUSTER ? undefined : host,
    // The scans of other tests on this cluster have their own operators.
    ...(ON_CLUSTER && { WATCH_NAMESPACES: namespace }),
    ...stack.environment,
    ...extra,
  };
  const kubectl = async (args: string[], input?: string): Promise<string> => {
    const child = run('kubectl', ['--kubeconfig', environment.KUBECONFIG!, '-n', namespace, ...args], { maxBuffer: 16 << 20 });
    if (input !== undefined) child.child.stdin!.end(input);
    return (await child).stdout;
  };
  let processes: Product | undefined;
  const cleanups: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const cleanup of cleanups) await cleanup();
    await processes?.close();
    if (ON_CLUSTER) await kubectl(['delete', 'namespace', namespace, '--wait=false']);
    await demo.close();
    await stack.close();
    await databases?.close();
    if (!process.env.KEEP_JOURNEY) await rm(dir, { recursive: true, force: true });
  };
  try {
    if (ON_CLUSTER) {
      await kubectl(['apply', ...CRDS.flatMap((path) => ['-f', path])]);
      await kubectl(['create', 'namespace', namespace]);
      await kubectl(['label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted']);
    }
    const issued: string[] = [];
    const { key: firstKey, password } = await ensureDemoOrganisation({
      environment,
      environmentFile: join(dir, 'env'),
      passwordFile: join(dir, 'demo-password'),
      namespace,
      keyName: 'journey',
    });
    let key = firstKey;
    const mongo = connectMongo({ url: environment.MONGODB_URL!, logger });
    issued.push(key);
    const { keys } = openStores(mongo.db);
    cleanups.push(() => mongo.close());
    processes = await startProduct({ environment, logDir: dir });
    const url = processes.url;
    return {
      url,
      demoUrl: demo.url,
      dir,
      namespace,
      host,
      processes,
      environment,
      inboxUrl: stack.inboxUrl,
      password: password!,
      request: (path, init = {}) =>
        fetch(`${url}${path}`, {
          ...init,
          headers: { 'X-API-Key': key, ...(init.body ? { 'Content-Type': 'application/json' } : {}), ...init.headers },
        }),
      credentials: () => ({ CURBCUT_URL: url, CURBCUT_API_KEY: key }),
      curbcut: (...args) => runProgram(process.execPath, [CURBCUT, ...args], { CURBCUT_URL: url, CURBCUT_API_KEY: key }),
      async changeKey() {
        key = (await issueKey(keys, 'demo')).secret;
        issued.push(key);
      },
      secrets: async () => [...issued, password!, ...(await secretsOf(environment))],
      kubectl,
      close,
    };
  } catch (error) {
    for (const name of ['api.log', 'operator.log'])
      process.stderr.write(
        await readFile(join(dir, name), 'utf8').then(
          (text) => text.slice(-4000),
          () => '',
        ),
      );
    await close();
    throw error;
  }
}

function runProgram(program: string, args: readonly string[], environment: Record<string, string>): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.on('close', (code) => resolve({ code: code ?? -1, stdout, stderr }));
  });
}

/** Returns the secrets that the environment contains or names. */
async function secretsOf(environment: Record<string, string | undefined>): Promise<string[]> {
  const file = environment.NATS_CREDENTIALS_FILE;
  const credentials = file === undefined ? '' : await readFile(file, 'utf8');
  const lines = credentials.split('\n').filter((line) => /^[\w.-]{40,}$/.test(line));
  return [...lines, environment.S3_SECRET_ACCESS_KEY, environment.NATS_SIGNING_SEED].filter((secret) => secret !== undefined);
}

/** Polls until the value satisfies the condition. @throws an error with the last value after `withinMs` milliseconds */
export async function eventually<T>(poll: () => Promise<T>, satisfies: (value: T) => boolean, withinMs = 60_000): Promise<T> {
  const until = Date.now() + withinMs;
  for (;;) {
    const value = await poll();
    if (satisfies(value)) return value;
    if (Date.now() > until)
      throw new Error(`condition not met within ${withinMs / 1000} s; last value: ${JSON.stringify(value)?.slice(0, 2000)}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
