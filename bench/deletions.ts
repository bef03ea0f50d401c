/** Measures how long `kubectl delete` of many live scans takes until all are settled and gone. */
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { KubernetesConnection } from '../platform/kubernetes/kubernetes.ts';
import { pace, startInstallation, type Installation } from './installation.ts';
import { untilLive } from './memory.ts';
import { DEFAULT_NAMESPACE } from '../core/protocol/custom-resources.ts';

/** Seconds from the start of `kubectl delete`. */
interface Deletion {
  /** Until `kubectl delete --wait=false` returned. */
  command: number;
  /** Until no AccessibilityScan exists. */
  gone: number;
  /** Until no credits are held. */
  settled: number;
}

export interface Deletions extends Deletion {
  scans: number;
  /** Until garbage collection has deleted all Jobs and pods. */
  children: number;
}

const POLL_MS = 200;
const WITHIN_MS = 600_000;

/** Whether a collection has no object. */
export async function isEmpty(connection: KubernetesConnection, path: string, labelSelector?: string): Promise<boolean> {
  const { items } = await connection.request<{ items: object[] }>('GET', path, { query: { limit: 1, labelSelector } });
  return items.length === 0;
}

/** @returns seconds since `started`, of `performance.now()` */
async function until(started: number, what: string, done: () => Promise<boolean>): Promise<number> {
  while (!(await done())) {
    if (performance.now() - started > WITHIN_MS) throw new Error(`after ${WITHIN_MS / 1000} s: not yet ${what}`);
    await sleep(POLL_MS);
  }
  return (performance.now() - started) / 1000;
}

/** Deletes AccessibilityScans with kubectl. @param which arguments that choose them @param areGone whether none is left */
export async function measureDeletion(
  { held, kubeconfig }: Installation,
  which: readonly string[],
  areGone: () => Promise<boolean>,
): Promise<Deletion> {
  const started = performance.now();
  const args = ['delete', 'accessibilityscans', ...which, '--wait=false', '--kubeconfig', kubeconfig];
  const [command, gone, settled] = await Promise.all([
    promisify(execFile)('kubectl', args, { maxBuffer: 64 * 2 ** 20 }).then(() => (performance.now() - started) / 1000),
    until(started, 'gone', areGone),
    until(started, 'settled', async () => (await held()) === 0),
  ]);
  return { command, gone, settled };
}

/** Measures with `count` scans whose image does not exist. */
export async function measureDeletions(count: number): Promise<Deletions> {
  const installation = await startInstallation({ scans: count, maxRunning: count });
  const { connection } = installation;
  const empty = (path: string): Promise<boolean> => isEmpty(connection, path);
  try {
    await pace(count, installation.submit);
    await untilLive(installation, count);
    const started = performance.now();
    const [deletion, children] = await Promise.all([
      measureDeletion(installation, ['--all', '--namespace', DEFAULT_NAMESPACE], () =>
        empty(`/apis/curbcut.dev/v1/namespaces/${DEFAULT_NAMESPACE}/accessibilityscans`),
      ),
      until(
        started,
        'collected',
        async () =>
          (await empty(`/apis/batch/v1/namespaces/${DEFAULT_NAMESPACE}/jobs`)) &&
          (await empty(`/api/v1/namespaces/${DEFAULT_NAMESPACE}/pods`)),
      ),
    ]);
    return { scans: count, ...deletion, children };
  } finally {
    await installation.close();
  }
}
