/** Whether the operator can list Organisations. Without this permission, everything but the Organisation resource works. */
import type { Logger } from '../../platform/logger.ts';
import { errorMessage } from '../../platform/errors.ts';
import type { OperatorMetrics } from '../metrics.ts';
import type { ConditionUpdate } from '../runtime/conditions.ts';
import { countsAsUnreadable } from '../runtime/namespaces.ts';

export interface Readability {
  /** Called after each list, with null if it succeeded, else with the error and the number of failures in a row. */
  listed(error: unknown, failures: number): void;
  /** The condition of the default ScanQueue; null while nothing is known. */
  condition(): ConditionUpdate | null;
  /** Calls `listener` when the condition changes. @returns a function that removes it */
  onChange(listener: () => void): () => void;
}

export function createReadability({
  metrics,
  logger,
}: {
  metrics: Pick<OperatorMetrics, 'organisationsReadable'>;
  logger: Logger;
}): Readability {
  const listeners = new Set<() => void>();
  let condition: ConditionUpdate | null = null;

  function change(to: ConditionUpdate): void {
    if (condition?.status === to.status) return;
    condition = to;
    metrics.organisationsReadable(to.status === 'True');
    for (const listener of [...listeners]) listener();
  }

  return {
    listed(error, failures) {
      const type = 'OrganisationsReadable';
      if (error === null) {
        if (condition?.status === 'False') logger.info({}, 'Organisations are readable again');
        return change({ type, status: 'True', reason: 'Readable', message: 'The operator can read Organisations.' });
      }
      if (!countsAsUnreadable(error, failures)) return;
      const problem = errorMessage(error).slice(0, 500);
      if (condition?.status !== 'False') logger.warn({ reason: problem }, 'cannot read Organisations, their manifests have no effect');
      const message = `Organisation manifests have no effect, because the operator cannot list them (${problem}). Everything else works. Install the custom resource definition and the ClusterRole (chart value rbac.organisations), or manage organisations with curbcut-admin.`;
      change({ type, status: 'False', reason: 'Unreadable', message });
    },
    condition: () => condition,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
