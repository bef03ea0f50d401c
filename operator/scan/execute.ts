/** Executes and logs a scan's plan. */
import { requestOf } from '../../core/protocol/custom-resources.ts';
import type { Logger } from '../../platform/logger.ts';
import { conditionOf } from '../runtime/conditions.ts';
import { keyOf } from '../runtime/key.ts';
import type { Planned } from '../runtime/controller/planned-reconcile.ts';
import type { RunActions } from './actions.ts';
import type { Action, Facts } from './policy/plan.ts';
import { phaseOf } from './policy/status.ts';
import type { PodMessageLog } from './results/pod-message-log.ts';
import type { ScanClient } from './scan-client.ts';

export interface ExecuteDeps {
  scanClient: ScanClient;
  runActions: RunActions;
  podMessages: PodMessageLog;
  logger: Logger;
}

/** Frequent actions, logged at debug level. */
const FREQUENT: ReadonlySet<Action['do']> = new Set(['mirror', 'observe']);

export function createExecute(deps: ExecuteDeps): Planned<Facts, Action>['execute'] {
  const { scanClient, runActions, podMessages, logger } = deps;

  return async ({ actions }, facts, signal) => {
    const { scan, scanId } = facts;
    const started = performance.now();
    await runActions(actions, facts, signal);
    const after = scanClient.get(scan.metadata.namespace!, scan.metadata.name) ?? scan;
    const names = actions.map((action) => action.do);
    logger[names.every((name) => FREQUENT.has(name)) ? 'debug' : 'info'](
      {
        scan: scanId,
        request: requestOf(scan),
        key: keyOf(scan),
        phase: phaseOf(after),
        reason: conditionOf(after.status?.conditions, 'Succeeded')?.reason,
        actions: names,
        durationMs: Math.round((performance.now() - started) * 10) / 10,
      },
      'reconciled',
    );
    // The attempts of a new Job count from 0 again.
    if (names.includes('release') || names.includes('replaceJob')) podMessages.forget(scanId);
    return 'again';
  };
}
