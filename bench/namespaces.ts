/** Measures what watched namespaces cost: the time from submission to Job, broken watches, and the operator's sockets and memory. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DEFAULT_NAMESPACE, resourceNameOf } from '../core/protocol/custom-resources.ts';
import { metric, quantile, startInstallation, type Installation } from './installation.ts';

export interface NamespacesCost {
  namespaces: number;
  /** Milliseconds from the submission until the Job exists, one scan after the other: the first, and the median and maximum of all. */
  job: { first: number; median: number; max: number };
  /** Watches that broke, expired or received nothing, in at least 30 s. */
  restarts: number;
  openFiles: number;
  /** Resident memory in bytes. */
  memory: number;
}

const NAMESPACES = { group: '', version: 'v1', plural: 'namespaces' };
const JOBS = { group: 'batch', version: 'v1', plural: 'jobs' };
const LOOK_MS = 10;
/** The submissions are spread over this time, in which an operator without sockets for its lease breaks its watches several times. */
const WATCH_MS = 30_000;
const JOB_WITHIN_MS = 120_000;

/** Measures `scans` submissions beside `count` watched namespaces, of which all but one are empty. */
export async function measureNamespaces(count: number, scans: number): Promise<NamespacesCost> {
  const others = Array.from({ length: count - 1 }, (_, index) => `bench-${index}`);
  const installation = await startInstallation({
    scans: scans + 1,
    maxRunning: 1_000,
    asInImage: true,
    // The scans are in the last one: its watches are the last to open.
    environment: { WATCH_NAMESPACES: [...others, DEFAULT_NAMESPACE].join(',') },
  });
  const { connection, product } = installation;
  try {
    for (const name of others) {
      const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
      await connection.request('POST', connection.path(NAMESPACES), { body });
    }
    const jobs: number[] = [];
    for (let index = 0; index < scans; index++) {
      jobs.push(await untilJob(installation, index));
      await sleep(WATCH_MS / scans);
    }
    const sorted = jobs.toSorted((one, other) => one - other);
    const restarts = await Promise.all(
      ['idle', 'error', 'expired'].map((reason) => metric(product.operatorUrl, 'curbcut_watch_restarts_total', `reason="${reason}"`)),
    );
    return {
      namespaces: count,
      job: { first: jobs[0]!, median: quantile(sorted, 0.5), max: sorted.at(-1)! },
      restarts: restarts.reduce((sum, number) => sum + number, 0),
      openFiles: await metric(product.operatorUrl, 'curbcut_process_open_fds'),
      memory: await metric(product.operatorUrl, 'curbcut_process_resident_memory_bytes'),
    };
  } finally {
    await installation.close();
  }
}

/** Submits a scan. @returns milliseconds until its Job exists */
async function untilJob({ connection, submit }: Installation, index: number): Promise<number> {
  const started = performance.now();
  const name = resourceNameOf(await submit(index));
  for (;;) {
    const { items } = await connection.request<{ items: { metadata: { name: string } }[] }>(
      'GET',
      connection.path(JOBS, DEFAULT_NAMESPACE),
    );
    if (items.some((job) => job.metadata.name === name)) return performance.now() - started;
    if (performance.now() - started > JOB_WITHIN_MS) throw new Error(`no Job after ${JOB_WITHIN_MS / 1000} s`);
    await sleep(LOOK_MS);
  }
}
