/** Whether a pod fits the one node. */
import { arch } from 'node:os';
import { matchesExpression } from '../api-server/selectors.ts';
import type { PodSpec } from '../workload-types.ts';

export const NODE_NAME = 'curbcut-local';
export const NODE_ADDRESS = '127.0.0.1';

/** The labels that every real node has too. */
export const NODE_LABELS: Record<string, string> = {
  'kubernetes.io/hostname': NODE_NAME,
  'kubernetes.io/os': 'linux',
  'kubernetes.io/arch': arch() === 'x64' ? 'amd64' : arch(),
};

/** The message of the `Unschedulable` condition; null if the pod fits. */
export function unschedulable(spec: PodSpec): string | null {
  const selected = Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => NODE_LABELS[key] === value);
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const suits = terms?.some(({ matchExpressions = [], matchFields = [] }) => {
    if (matchExpressions.length + matchFields.length === 0) return false;
    return (
      matchExpressions.every((expression) => matchesExpression(expression, NODE_LABELS)) &&
      matchFields.every((expression) => matchesExpression(expression, { 'metadata.name': NODE_NAME }))
    );
  });
  if (selected && suits !== false) return null;
  const why = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.";
  return `${why} no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.`;
}
