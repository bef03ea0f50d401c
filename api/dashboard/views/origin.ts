/** Where a scan comes from, and who submitted it. Pure. */
import { keyIdOf } from '../../../core/accounts.ts';
import type { ActorNames } from '../actor-names.ts';
import type { ScanRow } from '../../../stores/scans/scans.ts';

export interface OriginWords {
  text: string;
  /** A person, an API key or a resource. Null: not known. */
  who: string | null;
}

export function originOf(
  { origin, resource, schedule, submittedBy }: Pick<ScanRow, 'origin' | 'resource' | 'schedule' | 'submittedBy'>,
  names: ActorNames,
): OriginWords {
  if (schedule !== undefined) return { text: 'Schedule', who: `${resource.namespace}/${schedule}` };
  if (origin === 'manifest') return { text: 'Manifest', who: `${resource.namespace}/${resource.name}` };
  const isPerson = submittedBy !== undefined && keyIdOf(submittedBy) === null;
  return { text: isPerson ? 'Dashboard' : 'API', who: submittedBy === undefined ? null : names(submittedBy) };
}
