/** Reads and writes the scans of the cluster, with reads from a cache that includes own writes. */
import { scanIdOf, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import type { KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import type { Manager } from '../runtime/manager.ts';
import { createResourceClient, type ResourceClient } from '../runtime/resource-client.ts';
import { SCANS, withoutManagedFields } from './kube-types.ts';

export type ScanClient = ResourceClient<AccessibilityScan>;

export interface ScanClientDeps {
  manager: Pick<Manager, 'watch'>;
  connection: KubernetesConnection;
  apiNamespace: string;
  /** Empty: all namespaces. */
  watchNamespaces: readonly string[];
}

/** Watches scans in the installation's namespaces, indexed by scan ID. */
export function watchScans({ manager, connection, apiNamespace, watchNamespaces }: ScanClientDeps): ScanClient {
  const cache = manager.watch<AccessibilityScan>({
    resource: SCANS,
    namespaces: watchNamespaces,
    keep: withoutManagedFields,
    indexes: { id: (scan) => [scanIdOf(scan, apiNamespace)] },
  });
  return createResourceClient<AccessibilityScan>({ connection, resource: SCANS, cache });
}

/** Returns the scan with this ID from the cache. */
export function scanById(client: Pick<ScanClient, 'byIndex'>, scanId: string): AccessibilityScan | undefined {
  return client.byIndex('id', scanId)[0];
}
