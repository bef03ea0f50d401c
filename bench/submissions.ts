/**
 * Measures accepted submissions per second through the API (key, limits, target rules, credits, custom resource), and
 * the creation of the same custom resources directly on Kubernetes. The ratio shows the cost of the API.
 */
import { API_VERSION, GROUP, SCANS_PLURAL, VERSION } from '../core/protocol/custom-resources.ts';
import { pace, quantile, startInstallation } from './installation.ts';

export interface Rates {
  submissions: number;
  /** Accepted submissions per second. */
  accepted: number;
  /** Creations of the bare resource per second. */
  bare: number;
  p50Ms: number;
  p99Ms: number;
}

/** A namespace that the operator does not watch. */
const BARE = 'bench-bare';

/** Measures `count` submissions on a new installation whose operator runs one scan at a time. */
export async function measureSubmissions(count: number): Promise<Rates> {
  const { connection, submit, close } = await startInstallation({ scans: count, maxRunning: 1 });
  try {
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
    const submitted = await pace(count, submit);
    return {
      submissions: count,
      accepted: count / submitted.seconds,
      bare: count / bare.seconds,
      p50Ms: quantile(submitted.each, 0.5),
      p99Ms: quantile(submitted.each, 0.99),
    };
  } finally {
    await close();
  }
}
