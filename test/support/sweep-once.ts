/** Runs the sweeper's repairs once, as the operator does. */
import { createRun, sweep, type SweepDeps, type SweepResult } from '../../operator/maintenance/sweep.ts';
import { silentLogger } from './silent-logger.ts';

/** @throws if a repair failed */
export async function sweepOnce(deps: SweepDeps): Promise<SweepResult> {
  const run = createRun(silentLogger, new AbortController().signal);
  await sweep(deps, run);
  const failures = run.result.failed + run.result.unreadable;
  if (failures > 0) throw new Error(`${failures} repairs failed`);
  return run.result;
}
