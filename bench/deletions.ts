/** Measures how long `kubectl delete` of many live scans takes until all are settled and gone. */
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { pace, startInstallation } from './installation.ts';
import { untilLive } from './memory.ts';
import { DEFAULT_NAMESPACE } from '../core/protocol/custom-resources.ts';

/** Seconds from the start of `kubectl delete`. */
export interface Deletions {
  scans: number;
  /** Until `kubectl delete --wait=false` returned. */
  command: number;
  /** Until no AccessibilityScan exists. */
  gone: number;
  /** Until no credits are held. */
  settled: number;
  /** Until garbage collection has deleted all Jobs and pods. */
  children: number;
}

const POLL_MS = 200;
const GONE_WITHIN_MS = 600_000;

/** Measures with `count` scans whose image does not exist. */
export async function measureDeletions(count: number): Promise<Deletions> {
  const installation = await startInstallation({ scans: count, maxRunning: count });
  const { connection, kubeconfig } = installation;
  const left = async (path: string): Promise<number> => {
    const { items } = await connection.request<{ items: object[] }>('GET', path, { query: { limit: 1 } });
    return items.length;
  };
  try {
    await pace(count, installation.submit);
    await untilLive(installation, count);
    const started = performance.now();
    const since = (): number => (performance.now() - started) / 1000;
    const until = async (what: string, done: () => Promise<boolean>): Promise<number> => {
      while (!(await done())) {
        if (since() * 1000 > GONE_WITHIN_MS) throw new Error(`after ${GONE_WITHIN_MS / 1000} s: not yet ${what}`);
        await sleep(POLL_MS);
      }
      return since();
    };
    const args = ['delete', 'accessibilityscans', '--all', '--namespace', DEFAULT_NAMESPACE, '--wait=false', '--kubeconfig', kubeconfig];
    const [command, gone, settled, children] = await Promise.all([
      promisify(execFile)('kubectl', args, { maxBuffer: 64 * 2 ** 20 }).then(since),
      until('gone', async () => (await left(`/apis/curbcut.dev/v1/namespaces/${DEFAULT_NAMESPACE}/accessibilityscans`)) === 0),
      until('settled', async () => (await installation.held()) === 0),
      until('collected', async () => {
        const jobs = await left(`/apis/batch/v1/namespaces/${DEFAULT_NAMESPACE}/jobs`);
        return jobs + (await left(`/api/v1/namespaces/${DEFAULT_NAMESPACE}/pods`)) === 0;
      }),
    ]);
    return { scans: count, command, gone, settled, children };
  } finally {
    await installation.close();
  }
}
