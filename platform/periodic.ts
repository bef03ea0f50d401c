/** Work that a process repeats until it stops. */
import { sleep, type Clock } from './clock.ts';
import type { Logger } from './logger.ts';

export interface PeriodicTask {
  name: string;
  /** The pause between two runs, in milliseconds. */
  everyMs: number;
  /** A failure is logged, and the next run retries. */
  run(signal: AbortSignal): Promise<void>;
}

/** Repeats a task until the signal aborts. It never rejects. */
export async function runPeriodically(task: PeriodicTask, clock: Clock, logger: Logger, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    try {
      await task.run(stop);
    } catch (error) {
      if (!stop.aborted) logger.warn({ err: error, task: task.name }, 'periodic task failed, retrying');
    }
    await sleep(clock, task.everyMs, stop);
  }
}
