/** Runs the sweeper's repairs once, as the operator does. */
import { createIsolation } from '../../operator/maintenance/isolation.ts';
import { sweep, type SweepRequest, type Swept } from '../../operator/maintenance/sweep.ts';
import { silentLogger } from './silent-logger.ts';

/** @throws if a repair failed */
export async function sweepOnce(request: Omit<SweepRequest, 'isolation' | 'signal'>): Promise<Swept> {
  const { signal } = new AbortController();
  const isolation = createIsolation(silentLogger, signal);
  const swept = await sweep({ ...request, isolation, signal });
  if (isolation.failed + isolation.unreadable > 0) throw new Error(`${isolation.failed + isolation.unreadable} repairs failed`);
  return swept;
}
