/** Composes the operator: the controllers and the tasks, which run only while this replica holds the lease. */
import { DEFAULT_CLASS } from '../core/protocol/custom-resources.ts';
import { systemClock } from '../platform/clock.ts';
import { createContext, type OperatorContext, type OperatorOptions } from './context.ts';
import { addKnownIssuesController } from './known-issues/controller.ts';
import { endedScansTask, sitesTask } from './maintenance/ended-scans.ts';
import { sweepTask } from './maintenance/sweeper.ts';
import { addOrganisationController } from './organisation/controller.ts';
import { addQueueController } from './queue/controller.ts';
import { addMisplacedQueues } from './queue/misplaced.ts';
import { addStateController } from './queue/state.ts';
import { createRecorder } from './runtime/events.ts';
import { runLeaderElection } from './runtime/leader-election.ts';
import { createManager } from './runtime/manager.ts';
import { addScanController } from './scan/controller.ts';
import { addScheduleController } from './schedule/controller.ts';
import { announceTask } from './maintenance/announce.ts';

/** The name of the operator in the `managedFields` and Events of the objects that it writes. */
export const FIELD_MANAGER = 'curbcut-operator';
/** Each class has its own Lease, because each has its own leader. */
export const leaseOf = (operatorClass: string) =>
  operatorClass === DEFAULT_CLASS ? 'curbcut-operator' : `curbcut-operator-${operatorClass}`;

/** Runs until the signal aborts: campaigns for the lease, and reconciles while it holds it. */
export function runOperator(options: OperatorOptions, signal: AbortSignal): Promise<void> {
  const { connection, settings, metrics, identity, logger, clock = systemClock } = options;
  const leaseDurationMs = settings.leaseSeconds * 1000;
  const lease = leaseOf(settings.operatorClass);
  // The alert for a missing leader needs the series of replicas that never lead, too.
  metrics.runtime.leading(lease, false);
  return runLeaderElection({
    connection,
    namespace: settings.namespace,
    name: lease,
    identity,
    clock,
    logger,
    metrics: metrics.runtime,
    signal,
    leaseDurationMs,
    renewDeadlineMs: (leaseDurationMs * 2) / 3,
    retryPeriodMs: Math.min(2_000, leaseDurationMs / 8),
    whileLeading: (stop, lost) => lead(options, stop, lost),
  });
}

/** One term as the leader. `stop` lets running writes finish; `lost` ends them. */
async function lead(options: OperatorOptions, stop: AbortSignal, lost: AbortSignal): Promise<void> {
  const { connection, metrics, identity, logger, clock = systemClock } = options;
  const manager = createManager({ connection, logger, clock, metrics: metrics.runtime });
  const onDropped = metrics.runtime.eventDropped;
  const recorder = createRecorder({ connection, component: FIELD_MANAGER, instance: identity, logger, clock, onDropped });
  compose(createContext(options, manager, recorder));
  try {
    await manager.run(stop, lost);
  } finally {
    if (!lost.aborted) await recorder.flush();
    metrics.stoppedLeading();
  }
}

function compose(context: OperatorContext): void {
  const { manager, settings, logger } = context;
  const { readability, undeclared } = addOrganisationController(context);
  const writeRowAgain = addScanController(context);
  addQueueController(context, readability);
  addStateController(context);
  addMisplacedQueues(context);
  addScheduleController(context);
  addKnownIssuesController(context);
  if (!settings.webhooks) logger.warn({}, 'webhooks are off, events are dropped');
  manager.addTask(sitesTask(context));
  manager.addTask(announceTask(context, undeclared.organisations));
  manager.addTask(endedScansTask(context));
  manager.addTask(sweepTask(context, writeRowAgain));
}
