/** Writes the custom resource of a submission, with retries. */
import { setTimeout as sleep } from 'node:timers/promises';
import { KubernetesError } from '../../platform/kubernetes/kubernetes.ts';
import type { ScanRow } from '../../stores/scans/scans.ts';
import type { Origin } from '../../stores/submissions/scan-resources.ts';
import type { ApiStores } from '../dependencies.ts';
import { DependencyDown } from '../dependency-outages.ts';

/** Waits between attempts, in milliseconds. */
const RETRY_AFTER_MS = [100, 400];

/** The custom resource was not written and certainly does not exist. */
export class NeverWritten extends DependencyDown {
  constructor(cause: unknown, dependency = 'kubernetes') {
    super(dependency, cause);
    this.name = 'NeverWritten';
  }
}

/**
 * Writes the custom resource. Its name is derived from the scan ID, so that a retry cannot create a second one.
 * @throws NeverWritten if it certainly does not exist; after any other error it may exist
 */
export async function writeResource(scanResources: ApiStores['scanResources'], row: ScanRow, origin: Origin | undefined): Promise<void> {
  let failure: unknown;
  for (const wait of [...RETRY_AFTER_MS, null]) {
    try {
      await scanResources.submit(row, origin);
      return;
    } catch (error) {
      failure = error;
      if (isRejection(error)) throw new NeverWritten(error);
      if (wait !== null) await sleep(wait);
    }
  }
  // No attempt was answered, but one may have written the resource.
  const exists = await scanResources.exists(row).catch(() => null);
  if (exists === true) return;
  throw exists === false ? new NeverWritten(failure) : failure;
}

/** Returns whether the API server rejected the request, so that it certainly wrote nothing. */
function isRejection(error: unknown): boolean {
  return error instanceof KubernetesError && error.code >= 400 && error.code < 500 && error.code !== 408 && error.code !== 429;
}
