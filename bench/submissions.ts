/**
 * Accepted submissions a second, through the whole front door (key, limits, address rule, credits, custom resource),
 * beside the bare creation of the same custom resources on the same Kubernetes API: the ratio is what the front door costs.
 */
import { mkdtemp, mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { API_VERSION, GROUP, SCANS_PLURAL, VERSION } from '../core/resources.ts';
import { startProduct } from '../local/product.ts';
import { startStack } from '../local/stack.ts';
import { connectKubernetes } from '../stores/kubernetes-connection.ts';
import { connectMongo, ensureIndexes } from '../stores/mongo.ts';
import { openStores } from '../stores/open.ts';

export interface Rates {
  submissions: number;
  /** Accepted submissions a second. */
  accepted: number;
  /** Bare creations of the resource a second. */
  bare: number;
  p50Ms: number;
  p99Ms: number;
}

/** No organisation or key may submit more than 60 a minute, so the load is spread. */
const PER_ORGANISATION = 50;
const CONCURRENCY = 16;
/** A namespace that the operator does not watch. */
const BARE = 'bench-bare';

/** Calls `act` for 0 … count-1, so many at once. @returns seconds in all, and milliseconds of each */
async function pace(count: number, act: (index: number) => Promise<void>): Promise<{ seconds: number; each: number[] }> {
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

/** Measures `count` submissions on a stack of its own, with an operator that takes no scan on (its one place is held by an image that nobody has). */
export async function measureSubmissions(count: number): Promise<Rates> {
  const dir = await mkdtemp(join(tmpdir(), 'curbcut-bench-'));
  const logger = pino({ level: 'silent' });
  await mkdir(join(dir, 'logs'));
  const stack = await startStack({ dataDir: dir, environment: { PATH: process.env.PATH }, logger });
  const environment = {
    ...process.env,
    ...stack.environment,
    ALLOW_TARGETS: '127.0.0.0/8',
    MAX_RUNNING_SCANS: '1',
    WATCH_NAMESPACES: 'curbcut',
    SCANNER_IMAGE: 'curbcut.dev/none:none',
    LOG_LEVEL: 'warn',
  };
  const product = await startProduct({ environment, logDir: join(dir, 'logs') });
  const mongo = connectMongo({ url: stack.environment.MONGODB_URL!, logger });
  const connection = connectKubernetes({ kubeconfig: stack.environment.KUBECONFIG });
  try {
    await ensureIndexes(mongo.db);
    const { organisations, credits, keys } = openStores(mongo.db);
    const secrets: string[] = [];
    for (let index = 0; index * PER_ORGANISATION < count; index++) {
      const id = `bench-${index}`;
      await organisations.add({ id, displayName: id, plan: 'bench', namespaces: [] });
      await credits.open(id);
      await credits.grant(id, 'bench', 1_000_000);
      secrets.push((await keys.issue({ organisation: id, name: 'bench', expiresAt: null })).secret);
    }
    await connection.request('POST', '/api/v1/namespaces', { body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: BARE } } });
    const bare = await pace(count, async (index) => {
      const path = connection.path({ group: GROUP, version: VERSION, plural: SCANS_PLURAL }, BARE);
      await connection.request('POST', path, {
        body: {
          apiVersion: API_VERSION,
          kind: 'AccessibilityScan',
          metadata: { name: `bare-${index}` },
          spec: { url: 'http://127.0.0.1:8080/' },
        },
      });
    });
    const submitted = await pace(count, async (index) => {
      const answer = await fetch(`${product.url}/v1/ci/scans`, {
        method: 'POST',
        headers: { 'X-API-Key': secrets[Math.floor(index / PER_ORGANISATION)]!, 'Content-Type': 'application/json' },
        body: JSON.stringify({ url: 'http://127.0.0.1:8080/', max_pages: 1 }),
      });
      if (answer.status !== 202) throw new Error(`submission ${index}: ${answer.status} ${await answer.text()}`);
      await answer.arrayBuffer();
    });
    const at = (share: number): number => submitted.each[Math.min(submitted.each.length - 1, Math.floor(share * submitted.each.length))]!;
    return { submissions: count, accepted: count / submitted.seconds, bare: count / bare.seconds, p50Ms: at(0.5), p99Ms: at(0.99) };
  } finally {
    await connection.close();
    await mongo.close();
    await product.close();
    await stack.close();
    await rm(dir, { recursive: true, force: true });
  }
}
