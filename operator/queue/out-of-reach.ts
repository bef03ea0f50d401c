/** Which scans take part in admission while the operator cannot read or write some of them. Pure. */
import type { AccessibilityScan } from '../../core/protocol/custom-resources.ts';
import type { ConditionUpdate } from '../runtime/conditions.ts';
import type { Unreadable } from '../runtime/controller/lanes.ts';
import { isAdmitted } from '../scan/kube-types.ts';

/** The namespaces that the operator cannot read; an empty name stands for all namespaces. */
export type UnreadableNamespaces = ReadonlyMap<string, Unreadable>;

/**
 * The time for which the admitted scans of an unreadable namespace keep their places, in milliseconds. Longer than an outage
 * of the API server or a mistake with a Role usually takes, because their pods may still run.
 */
export const KEEP_PLACES_MS = 300_000;

/**
 * Returns the scans that take part in admission. A scan that waits in an unreadable namespace does not, because its
 * admission could not be written; an admitted one keeps its place for a while, but not for ever.
 */
export function scansInReach(scans: readonly AccessibilityScan[], unreadable: UnreadableNamespaces, now: Date): AccessibilityScan[] {
  return scans.filter((scan) => {
    const problem = unreadable.get(scan.metadata.namespace!) ?? unreadable.get('');
    return problem === undefined || (isAdmitted(scan) && now.getTime() - problem.since.getTime() < KEEP_PLACES_MS);
  });
}

/** The number of namespaces that the condition names. */
const NAMED_MAX = 5;

/** The condition of the ScanQueue that states whether all namespaces can be read. */
export function namespacesReadable(unreadable: UnreadableNamespaces): ConditionUpdate {
  const type = 'NamespacesReadable';
  if (unreadable.size === 0) return { type, status: 'True', reason: 'Readable', message: 'The operator can read every watched namespace.' };
  const problems = [...unreadable].slice(0, NAMED_MAX).map(([namespace, { resource, message }]) => {
    const where = namespace === '' ? 'all namespaces' : `namespace ${namespace}`;
    return `cannot list ${resource} in ${where} (${message.slice(0, 500)})`;
  });
  const more = unreadable.size > NAMED_MAX ? `, and ${unreadable.size - NAMED_MAX} more` : '';
  return { type, status: 'False', reason: 'Unreadable', message: `Scans wait there: ${problems.join('; ')}${more}.` };
}
