/**
 * Measures the time from submission to verdict of a site with one page on a cluster, and of a Job of the same image that
 * does nothing.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadavg } from 'node:os';
import type { KubernetesObject } from '../core/protocol/custom-resources.ts';
import { conditionOf } from '../operator/runtime/conditions.ts';
import type { Job, Pod } from '../operator/scan/kube-types.ts';
import { connectKubernetes } from '../platform/kubernetes/connection.ts';
import { startWholeProduct } from '../test/journey/product.ts';

export interface Waits {
  /** Milliseconds, per round: from the submission until the pod runs, and until the stream shows the verdict. */
  scans: { started: number; verdict: number }[];
  /** Milliseconds: from the creation until the pod runs, and until the Job is Complete. */
  jobs: { started: number; complete: number }[];
  loadAverage: number;
}

const LOOK_MS = 50;
const JOBS = { group: 'batch', version: 'v1', plural: 'jobs' };
const PODS = { group: '', version: 'v1', plural: 'pods' };
const PAGE =
  '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>One page</title></head><body><main><h1>One page</h1><p>And no link.</p></main></body></html>';

/** Polls until the condition is true. @returns milliseconds since `from` */
async function until(from: number, isSo: () => Promise<boolean>): Promise<number> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  return performance.now() - from;
}
/** @throws if KUBECONFIG is not set */
export async function measureVerdicts(rounds: number): Promise<Waits> {
  const kubeconfig = process.env.KUBECONFIG;
  if (!kubeconfig) throw new Error('KUBECONFIG is not set: verdicts are measured on a cluster that has the images (make images).');
  const product = await startWholeProduct();
  const connection = connectKubernetes({ kubeconfig });
  const site = createServer((_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE));
  await new Promise<void>((resolve) => site.listen(0, product.host, resolve));
  const url = `http://${product.host}:${(site.address() as AddressInfo).port}/`;

  const get = async <T extends KubernetesObject>(of: typeof JOBS, name: string): Promise<T> =>
    (await connection.request('GET', connection.path(of, product.namespace, name))) as T;
  const podsOf = async (job: string): Promise<Pod[]> =>
    ((await connection.request('GET', connection.path(PODS, product.namespace), { query: { labelSelector: `job-name=${job}` } })) as { items: Pod[] }).items; // prettier-ignore
  const hasStarted = async (job: string): Promise<boolean> =>
    (await podsOf(job)).some(({ status }) => ['Running', 'Succeeded'].includes(status?.phase ?? ''));

  async function scan(): Promise<{ started: number; verdict: number }> {
    const from = performance.now();
    const answer = await product.request('/v1/ci/scans', { method: 'POST', body: JSON.stringify({ url, max_pages: 1, min_score: 50 }) });
    const { scan_id: id } = (await answer.json()) as { scan_id: string };
    const started = until(from, () => hasStarted(`scan-${id}`));
    const events = await (await product.request(`/v1/ci/scans/${id}/events`)).text();
    const verdict = performance.now() - from;
    if (!/"status":"done"/.test(events)) throw new Error(`the scan has no verdict: ${events}`);
    return { started: await started, verdict };
  }

  async function bareJob(): Promise<{ started: number; complete: number }> {
    const name = `bare-${randomUUID().slice(0, 8)}`;
    const container = {
      name: 'scanner',
      image: process.env.SCANNER_IMAGE ?? 'curbcut.dev/scanner:dev',
      imagePullPolicy: 'IfNotPresent',
      command: ['/bin/true'],
      securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
    };
    const securityContext = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } };
    const spec = {
      restartPolicy: 'Never',
      hostUsers: false,
      automountServiceAccountToken: false,
      securityContext,
      containers: [container],
    };
    const from = performance.now();
    await connection.request('POST', connection.path(JOBS, product.namespace), {
      body: { apiVersion: 'batch/v1', kind: 'Job', metadata: { name }, spec: { backoffLimit: 0, template: { spec } } },
    });
    const started = until(from, () => hasStarted(name));
    const complete = await until(from, async () => conditionOf((await get<Job>(JOBS, name)).status?.conditions, 'Complete') !== undefined);
    return { started: await started, complete };
  }

  try {
    const waits: Waits = { scans: [], jobs: [], loadAverage: 0 };
    // Alternating, so that other load on the machine affects both.
    for (let round = 0; round < rounds; round++) {
      waits.scans.push(await scan());
      waits.jobs.push(await bareJob());
    }
    return { ...waits, loadAverage: loadavg()[0]! };
  } finally {
    await new Promise((resolve) => site.close(resolve));
    await connection.close();
    await product.close();
  }
}
