/** Measures the memory of API and operator, without scans and with many live scans, each with Job, Secret and pod. */
import { setTimeout as sleep } from 'node:timers/promises';
import { metric, pace, startInstallation, type Installation } from './installation.ts';
import { DEFAULT_NAMESPACE } from '../core/protocol/custom-resources.ts';

export interface Memory {
  scans: number;
  /** Resident memory in bytes: after the start, with all scans live, and the maximum. */
  operator: { idle: number; live: number; peak: number };
  api: { idle: number; live: number; peak: number };
  /** Seconds from the first submission until every scan had its Job. */
  seconds: number;
}

const SAMPLE_MS = 250;
/** The pause before memory is measured, so that garbage is collected first. */
const REST_MS = 20_000;
const LIVE_WITHIN_MS = 600_000;

/** Measures with `count` scans whose image does not exist. */
export async function measureMemory(count: number): Promise<Memory> {
  const installation = await startInstallation({ scans: count, maxRunning: count, asInImage: true });
  const { apiProbesUrl, operatorUrl } = installation.product;
  const resident = async (): Promise<{ operator: number; api: number }> => {
    const [operator, api] = await Promise.all([operatorUrl, apiProbesUrl].map((at) => metric(at, 'curbcut_process_resident_memory_bytes')));
    return { operator: operator!, api: api! };
  };
  const peak = { operator: 0, api: 0 };
  let sampling = true;
  const sampler = (async () => {
    while (sampling) {
      const now = await resident();
      peak.operator = Math.max(peak.operator, now.operator);
      peak.api = Math.max(peak.api, now.api);
      await sleep(SAMPLE_MS);
    }
  })();
  try {
    await sleep(REST_MS / 2);
    const idle = await resident();
    const started = performance.now();
    await pace(count, installation.submit);
    await untilLive(installation, count);
    const seconds = (performance.now() - started) / 1000;
    await sleep(REST_MS);
    const live = await resident();
    const row = (of: 'operator' | 'api'): Memory['operator'] => ({ idle: idle[of], live: live[of], peak: peak[of] });
    return { scans: count, operator: row('operator'), api: row('api'), seconds };
  } finally {
    sampling = false;
    await sampler;
    await installation.close();
  }
}

/** Waits until `count` scans have a pod. */
export async function untilLive({ connection }: Installation, count: number): Promise<void> {
  const until = Date.now() + LIVE_WITHIN_MS;
  for (;;) {
    const { items } = await connection.request<{ items: { status?: { containerStatuses?: object[] } }[] }>(
      'GET',
      `/api/v1/namespaces/${DEFAULT_NAMESPACE}/pods`,
    );
    const waiting = items.filter(({ status }) => (status?.containerStatuses?.length ?? 0) > 0).length;
    if (waiting >= count) return;
    if (Date.now() > until) throw new Error(`only ${waiting} of ${count} pods were there after ${LIVE_WITHIN_MS / 1000} s`);
    await sleep(1000);
  }
}
