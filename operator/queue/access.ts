/** Who may use a queue. Pure. */
import { ANONYMOUS } from '../../core/organisation.ts';
import { PUBLIC_QUEUE, type AccessibilityScan, type ScanQueue } from '../../core/protocol/custom-resources.ts';
import { organisationOf } from './admission-state.ts';

/** The namespaces and the organisations whose scans may use a queue; null allows all. A scan needs both. */
export interface Access {
  namespaces: readonly string[] | null;
  organisations: readonly string[] | null;
}

/** The queue of public scans is for them alone, unless its ScanQueue names others: its places are limited for strangers. */
export function accessOf({ metadata, spec }: Pick<ScanQueue, 'metadata' | 'spec'>): Access {
  return {
    namespaces: spec.allowedNamespaces ?? null,
    organisations: spec.allowedOrganisations ?? (metadata.name === PUBLIC_QUEUE ? [ANONYMOUS] : null),
  };
}

export function mayUse({ namespaces, organisations }: Access, namespace: string, organisation: string): boolean {
  return (namespaces?.includes(namespace) ?? true) && (organisations?.includes(organisation) ?? true);
}

/** Whether a vetted scan may use its queue. */
export const isAllowed = (access: Access, scan: AccessibilityScan): boolean =>
  mayUse(access, scan.metadata.namespace!, organisationOf(scan));
