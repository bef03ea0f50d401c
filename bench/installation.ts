/** An installation to measure: embedded stack, API and operator, and organisations with credits and keys. */
import { mkdtemp, mkdir, rm } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { startProduct, type Product } from '../local/product.ts';
import { startStack } from '../local/stack.ts';
import { connectKubernetes } from '../platform/kubernetes/connection.ts';
import type { KubernetesConnection } from '../platform/kubernetes/kubernetes.ts';
import { connectMongo, ensureIndexes } from '../stores/mongo.ts';
import type { Scans } from '../stores/scans/scans.ts';
import { openStores } from '../stores/stores.ts';
import { DEFAULT_NAMESPACE } from '../core/protocol/custom-resources.ts';

export interface Installation {
  product: Product;
  connection: KubernetesConnection;
  kubeconfig: string;
  /** The addresses of the stack. */
  environment: Readonly<Record<string, string | undefined>>;
  /** The folder of `api.log` and `operator.log`. */
  logs: string;
  scans: Scans;
  /** A key of each organisation. */
  secrets: readonly string[];
  /** Credits that scans hold. */
  held(): Promise<number>;
  /** Submits a scan of one page for the organisation of `index`. @returns the scan's id @throws unless it is accepted */
  submit(index: number): Promise<string>;
  /** Polls a scan with the key of the organisation of `index`. @throws unless it is in progress */
  poll(index: number, scanId: string): Promise<void>;
  close(): Promise<void>;
}

/** Requests are spread over organisations with one key each, because a key may send at most 60 per minute. */
export const PER_ORGANISATION = 50;
const CONCURRENCY = 16;

/** Calls `act` for 0 … count-1, CONCURRENCY at a time. @returns total seconds, and the milliseconds of each call in ascending order */
export async function pace(count: number, act: (index: number) => Promise<unknown>): Promise<{ seconds: number; each: number[] }> {
  const each: number[] = [];
  let next = 0;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (let index = next++; index < count; index = next++) {
        const before = performance.now();
        await act(index);
        each.push(performance.now() - before);
      }
    }),
  );
  return { seconds: (performance.now() - started) / 1000, each: each.sort((one, other) => one - other) };
}

/** The value below which this share of the values lies. @param sorted in ascending order */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
}

export interface Times {
  p50: number;
  p95: number;
}

/** @param all milliseconds, in any order */
export function timesOf(all: readonly number[]): Times {
  const sorted = all.toSorted((one, other) => one - other);
  return { p50: quantile(sorted, 0.5), p95: quantile(sorted, 0.95) };
}

/** The sum of a metric over its series whose labels contain `label`. */
export async function metric(url: string, name: string, label = ''): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const series = text.split('\n').filter((line) => line.startsWith(name) && /^[ {]/.test(line.slice(name.length)) && line.includes(label));
  if (series.length === 0) throw new Error(`${url} has no metric ${name}`);
  return series.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

/** The environment and Node.js options that the image's start script sets. */
export function readStart(): { environment: Record<string, string>; nodeFlags: string[] } {
  const script = readFileSync(join(import.meta.dirname, '..', 'images', 'service', 'start'), 'utf8');
  const [, exported = ''] = /^export (.+)$/m.exec(script) ?? [];
  const [, flags = ''] = /^exec node (.+?) "/m.exec(script) ?? [];
  if (exported === '' || flags === '') throw new Error('images/service/start has no `export` or `exec node` line');
  const pairs = exported.split(' ').map((pair) => pair.split('=', 2) as [string, string]);
  return { environment: Object.fromEntries(pairs), nodeFlags: flags.split(' ') };
}

export interface InstallationOptions {
  /** The number of scans that will be submitted. */
  scans: number;
  /** The number of scans that may have a Job at the same time. */
  maxRunning: number;
  /** Starts API and operator with the Node.js options and environment of the service image. */
  asInImage?: boolean;
  /** A cluster to use instead of the embedded Kubernetes. It must have the custom resource definitions. */
  kubeconfig?: string;
  /** The namespace of the scans, charged to the first organisation if it is set. It must exist. Default: `DEFAULT_NAMESPACE`. */
  namespace?: string;
  /** More options of Node.js for both processes. */
  nodeFlags?: readonly string[];
  /** More variables for both processes. */
  environment?: Readonly<Record<string, string>>;
}

/** Starts an installation whose scanner image does not exist, so that pods stay pending. */
export async function startInstallation(options: InstallationOptions): Promise<Installation> {
  const image = options.asInImage ? readStart() : { environment: {}, nodeFlags: [] };
  const dir = await mkdtemp(join(tmpdir(), 'curbcut-bench-'));
  const logger = pino({ level: 'silent' });
  const { namespace = DEFAULT_NAMESPACE } = options;
  await mkdir(join(dir, 'logs'));
  const stack = await startStack({ dataDir: dir, environment: { PATH: process.env.PATH, KUBECONFIG: options.kubeconfig }, logger });
  const kubeconfig = options.kubeconfig ?? stack.environment.KUBECONFIG!;
  const environment = {
    ...process.env,
    ...stack.environment,
    KUBECONFIG: kubeconfig,
    CURBCUT_NAMESPACE: namespace,
    ALLOW_TARGETS: '127.0.0.0/8',
    MAX_RUNNING_SCANS: String(options.maxRunning),
    PENDING_DEADLINE_SECONDS: '3600',
    WATCH_NAMESPACES: namespace,
    SCANNER_IMAGE: 'curbcut.dev/none:none',
    LOG_LEVEL: 'warn',
    ...image.environment,
    ...options.environment,
  };
  const logs = join(dir, 'logs');
  const product = await startProduct({ environment, nodeFlags: [...image.nodeFlags, ...(options.nodeFlags ?? [])], logDir: logs });
  const mongo = connectMongo({ url: stack.environment.MONGODB_URL!, logger });
  const connection = connectKubernetes({ kubeconfig });
  const close = async (): Promise<void> => {
    await connection.close();
    await mongo.close();
    await product.close();
    await stack.close();
    await rm(dir, { recursive: true, force: true });
  };
  try {
    await ensureIndexes(mongo.db);
    const { organisations, credits, keys, scans } = openStores(mongo.db);
    const secrets: string[] = [];
    const ids: string[] = [];
    for (let index = 0; index * PER_ORGANISATION < options.scans; index++) {
      const id = `bench-${index}`;
      ids.push(id);
      await organisations.add({
        id,
        displayName: id,
        plan: 'bench',
        namespaces: index === 0 && options.namespace ? [options.namespace] : [],
      });
      await credits.open(id);
      await credits.grant(id, 'bench', 1_000_000);
      const issued = await keys.issue({
        organisation: id,
        name: 'bench',
        expiresAt: null,
        creator: { createdBy: 'bench', rootCreator: 'bench' },
      });
      if (!issued.ok) throw new Error(issued.reason);
      secrets.push(issued.secret);
    }
    return {
      product,
      connection,
      kubeconfig,
      environment: stack.environment,
      logs,
      scans,
      secrets,
      async held() {
        const balances = await Promise.all(ids.map((id) => credits.balance(id)));
        return balances.reduce((sum, { held }) => sum + held, 0);
      },
      async submit(index) {
        const answer = await fetch(`${product.url}/v1/ci/scans`, {
          method: 'POST',
          headers: { 'X-API-Key': secrets[Math.floor(index / PER_ORGANISATION)]!, 'Content-Type': 'application/json' },
          body: JSON.stringify({ url: 'http://127.0.0.1:8080/', max_pages: 1 }),
        });
        if (answer.status !== 202) throw new Error(`submission ${index}: ${answer.status} ${await answer.text()}`);
        return ((await answer.json()) as { scan_id: string }).scan_id;
      },
      async poll(index, scanId) {
        const headers = { 'X-API-Key': secrets[Math.floor(index / PER_ORGANISATION)]! };
        const answer = await fetch(`${product.url}/v1/ci/scans/${scanId}`, { headers });
        if (answer.status !== 202) throw new Error(`poll ${index}: ${answer.status} ${await answer.text()}`);
        await answer.arrayBuffer();
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
