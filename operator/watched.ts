/** Which scans this operator acts on. Pure. */
import { classOf, type AccessibilityScan } from '../core/protocol/custom-resources.ts';

export interface Watched {
  /** Empty: all namespaces. */
  namespaces: readonly string[];
  operatorClass: string;
}

/** Whether the operator acts on the scans of a namespace. */
export const watchesNamespace = ({ namespaces }: Pick<Watched, 'namespaces'>, namespace: string): boolean =>
  namespaces.length === 0 || namespaces.includes(namespace);

/** Whether the operator acts on a scan. */
export const watches = (watched: Watched, scan: AccessibilityScan): boolean =>
  watchesNamespace(watched, scan.metadata.namespace!) && classOf(scan) === watched.operatorClass;
