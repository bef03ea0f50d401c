/** Writes the custom resource of a submission, with retries. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isRejection, KubernetesError } from '../../../platform/kubernetes/kubernetes.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';
import type { Origin } from '../../../stores/submissions/scan-resources.ts';
import type { ApiStores } from '../../dependencies.ts';
import { DependencyDown } from '../../http/dependency-outages.ts';

/** Waits between attempts, in milliseconds. */
const RETRY_AFTER_MS = [100, 400];

/** The API server rejected the resource, and would reject it again: rights, the schema or a policy are wrong. */
export class ResourceRejected extends Error {
  constructor(cause: unknown) {
    super('the Kubernetes API rejected the resource of a scan', { cause });
    this.name = 'ResourceRejected';
  }
}

/**
 * Writes the custom resource. Its name is derived from the scan ID, so that a retry cannot create a second one.
 * @throws ResourceRejected if a retry cannot succeed; after any other error it may exist
 */
export async function writeResource(scanResources: ApiStores['scanResources'], row: ScanRow, origin: Origin | undefined): Promise<void> {
  let failure: unknown;
  for (const wait of [...RETRY_AFTER_MS, null]) {
    try {
      await scanResources.submit(row, origin);
      return;
    } catch (error) {
      failure = error;
      if (isRejection(error)) throw new ResourceRejected(error);
      if (isRefusal(error)) throw new DependencyDown('kubernetes', error);
      if (wait !== null) await sleep(wait);
    }
  }
  // No attempt was answered, but one may have written the resource.
  const exists = await scanResources.exists(row).catch(() => null);
  if (exists === true) return;
  throw failure instanceof KubernetesError ? new DependencyDown('kubernetes', failure) : failure;
}

/** Returns whether the API server answered and will answer the same at once, such as 404 while the custom resource definition is missing. */
function isRefusal(error: unknown): boolean {
  return error instanceof KubernetesError && error.code >= 400 && error.code < 500 && error.code !== 408 && error.code !== 429;
}
