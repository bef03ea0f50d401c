/** Reads and writes the scans of the cluster, with reads from a cache that includes own writes. */
import { classOf, queueOf, scanIdOf, type AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import type { Manager } from '../runtime/controller/manager.ts';
import type { ResourceClient } from '../runtime/resource-client.ts';
import type { OperatorSettings } from '../settings.ts';
import { SCANS, controllerUids } from './kube-types.ts';

export type ScanClient = ResourceClient<AccessibilityScan>;

/** Watches the scans of the operator's class in the installation's namespaces, indexed by scan ID, queue, and the uid of the owner. */
export function watchScans(
  manager: Pick<Manager, 'watchResource'>,
  { namespace: apiNamespace, watchNamespaces, operatorClass }: Pick<OperatorSettings, 'namespace' | 'watchNamespaces' | 'operatorClass'>,
): ScanClient {
  return manager.watchResource<AccessibilityScan>({
    resource: SCANS,
    namespaces: watchNamespaces,
    // Here and not with a field selector, which Kubernetes supports for custom resources only from 1.31.
    accepts: (scan) => classOf(scan) === operatorClass,
    indexes: { id: (scan) => [scanIdOf(scan, apiNamespace)], queue: (scan) => [queueOf(scan)], owner: controllerUids },
  });
}
