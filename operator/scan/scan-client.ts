/** The scans of the cluster as this operator knows them: cached, with its own writes on top. */
import { scanIdOf, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import type { KubernetesConnection } from '../../platform/kubernetes/kubernetes.ts';
import type { Manager } from '../runtime/manager.ts';
import { createResourceClient, type ResourceClient } from '../runtime/resource-client.ts';
import { SCANS, withoutFieldOwners } from './kube-types.ts';

export type ScanClient = ResourceClient<AccessibilityScan>;

export interface ScanClientDeps {
  manager: Pick<Manager, 'watch'>;
  connection: KubernetesConnection;
  apiNamespace: string;
  /** Empty: all namespaces. */
  watchNamespaces: readonly string[];
}

/** Watches scans in every namespace of the installation, indexed by scan id. */
export function watchScans({ manager, connection, apiNamespace, watchNamespaces }: ScanClientDeps): ScanClient {
  const cache = manager.watch<AccessibilityScan>({
    resource: SCANS,
    namespaces: watchNamespaces,
    keep: withoutFieldOwners,
    indexes: { id: (scan) => [scanIdOf(scan, apiNamespace)] },
  });
  return createResourceClient<AccessibilityScan>({ connection, resource: SCANS, cache });
}

/** The scan with this id; undefined if the cache holds none. */
export function scanById(client: Pick<ScanClient, 'byIndex'>, scanId: string): AccessibilityScan | undefined {
  return client.byIndex('id', scanId)[0];
}
