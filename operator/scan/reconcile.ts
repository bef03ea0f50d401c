/** Brings one scan a step further: gathers what is known, has the plan decide, carries its actions out. */
import { requestOf, scanIdOf } from '../../core/protocol/custom-resources.ts';
import type { Logger } from '../../platform/logger.ts';
import { fromKey } from '../runtime/key.ts';
import type { RunActions } from './actions.ts';
import type { Gather } from './gather.ts';
import { conditionOf } from '../runtime/conditions.ts';
import { plan, type Timeouts } from './policy/plan.ts';
import type { PodMessageLog } from './results/pod-message-log.ts';
import type { ScanClient } from './scan-client.ts';
import { phaseOf } from './policy/status.ts';

export interface ReconcileDeps {
  scanClient: ScanClient;
  gather: Gather;
  runActions: RunActions;
  podMessages: PodMessageLog;
  timeouts: Timeouts;
  apiNamespace: string;
  logger: Logger;
}

/** Decisions in a row for one scan: from a stored result to the released finalizer it takes three. */
const ROUNDS_MAX = 8;
/** What happens many times in a scan's life and says little of it. */
const FREQUENT = new Set(['mirror', 'observe']);
/** Where a scan is not at rest after that many, it has its next turn after the others. */
const NEXT_TURN_MS = 10;

/** What the controller calls with a scan's key. */
export function createReconcile(parts: ReconcileDeps): (key: string, signal: AbortSignal) => Promise<{ requeueAfterMs?: number }> {
  const { scanClient, gather, runActions, podMessages, timeouts, apiNamespace } = parts;

  return async (key, signal) => {
    const { namespace, name } = fromKey(key);
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const scan = scanClient.get(namespace, name);
      if (scan === undefined) return {};
      signal.throwIfAborted();
      const facts = await gather(scan);
      const { actions, wakeAfterMs } = plan(facts, timeouts);
      if (actions.length === 0) return wakeAfterMs === null ? {} : { requeueAfterMs: wakeAfterMs };
      const started = performance.now();
      await runActions(actions, facts, signal);
      const told = actions.map((action) => action.do);
      const after = scanClient.get(namespace, name) ?? scan;
      parts.logger[told.every((action) => FREQUENT.has(action)) ? 'debug' : 'info'](
        {
          scan: facts.scanId,
          requestId: requestOf(scan),
          key,
          phase: phaseOf(after),
          reason: conditionOf(after.status?.conditions, 'Succeeded')?.reason,
          actions: told,
          durationMs: Math.round((performance.now() - started) * 10) / 10,
        },
        'reconciled',
      );
      if (actions.some((action) => action.do === 'release')) podMessages.forget(scanIdOf(scan, apiNamespace));
      // What is gone for this operator is news to the cache in a moment, and until then not to be done again.
      if (actions.some((action) => action.do === 'expire' || (action.do === 'release' && scan.metadata.deletionTimestamp !== undefined)))
        return {};
    }
    return { requeueAfterMs: NEXT_TURN_MS };
  };
}
