/** Where a scan comes from, and who submitted it. Pure. */
import type { ScanRow } from '../../../stores/scans/scans.ts';

export interface OriginWords {
  text: string;
  /** An e-mail address, or the names of resources. Null: unknown, as for scans of earlier versions. */
  who: string | null;
}

export function originOf({ origin, resource }: Pick<ScanRow, 'origin' | 'resource'>): OriginWords {
  if (origin === 'manifest') return { text: 'Manifest', who: `${resource.namespace}/${resource.name}` };
  return { text: 'API', who: null };
}
